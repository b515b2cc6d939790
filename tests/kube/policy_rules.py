#!/usr/bin/env python3
"""What a network plug-in makes of NetworkPolicies, for one pod: an nftables ruleset of incoming connections.

    policy_rules.py POD <STATE.json >RULES

State: {"namespaces": {NAME: {label: value}}, "pods": [{"name", "namespace", "labels", "ip"}], "policies": [objects as the
API server has them]}. Of the API: podSelector, namespaceSelector, ipBlock, matchLabels, matchExpressions, numbered ports.
Anything else ends it: a rule that is not understood would be a hole in a test.
"""
import json
import sys


def selects(selector, labels):
    unknown = set(selector) - {"matchLabels", "matchExpressions"}
    if unknown:
        raise SystemExit(f"unknown in a selector: {unknown}")
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for one in selector.get("matchExpressions") or []:
        has, value = one["key"] in labels, labels.get(one["key"])
        right = {"Exists": has, "DoesNotExist": not has, "In": value in one.get("values", []),
                 "NotIn": value not in one.get("values", [])}[one["operator"]]
        if not right:
            return False
    return True


def sources(peer, policy, state):
    """Addresses of a peer, as nftables has them."""
    unknown = set(peer) - {"podSelector", "namespaceSelector", "ipBlock"}
    if unknown:
        raise SystemExit(f"unknown peer: {unknown}")
    if "ipBlock" in peer:
        return [peer["ipBlock"]["cidr"]]
    found = []
    for pod in state["pods"]:
        if "namespaceSelector" in peer:
            near = selects(peer["namespaceSelector"], state["namespaces"].get(pod["namespace"], {}))
        else:
            near = pod["namespace"] == policy["metadata"]["namespace"]
        if near and selects(peer.get("podSelector", {}), pod["labels"]):
            found.append(pod["ip"])
    return found


def rules(policy, state):
    for rule in policy["spec"].get("ingress") or []:
        ports = [f"{one.get('protocol', 'TCP').lower()} dport {one['port']} " for one in rule.get("ports") or []] or [""]
        peers = rule.get("from")
        where = [""] if not peers else [f"ip saddr {a} " for peer in peers for a in sources(peer, policy, state)]
        for source in where:
            for port in ports:
                yield f"{source}{port}accept"


def main():
    state = json.load(sys.stdin)
    pod = next(p for p in state["pods"] if p["name"] == sys.argv[1])
    applied = [p for p in state["policies"] if p["metadata"]["namespace"] == pod["namespace"]
               and "Ingress" in p["spec"].get("policyTypes", ["Ingress"]) and selects(p["spec"]["podSelector"], pod["labels"])]
    print("table inet incoming {\n chain input {\n  type filter hook input priority 0; policy", "drop;" if applied else "accept;")
    print("  ct state established,related accept\n  iifname lo accept\n  meta l4proto icmp accept")
    for policy in applied:
        for rule in rules(policy, state):
            print(" ", rule)
    print(" }\n}")


main()
