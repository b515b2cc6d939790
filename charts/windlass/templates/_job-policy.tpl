{{- /* The paths that jobPolicy is about, as in operator/kinds/job/guard/job_policy.c, to CEL; tests/data/job-policy holds
both to the same cases. A row: PART WANT PATH; NAME[]: each of a list; *: each field;
~NAME: whatever its case.

windlass.cel: that everything that path leads to from x is as wanted. x: an expression; depth: names the variables. */ -}}
{{- define "windlass.cel" -}}
{{- $x := .x -}}
{{- if not .path -}}
{{- if eq .want "absent" -}} false
{{- else if eq .want "false" -}} ({{ $x }} == false || {{ $x }} == 0)
{{- else if eq .want "no-text" -}} {{ $x }} == ""
{{- else if eq .want "no-node" -}} {{ $x }} != "Node"
{{- else if eq .want "container" -}} ({{ $x }} in ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"])
{{- else if eq .want "kept" -}} true
{{- else if eq .want "notes" -}} {{ $x }}.all(k, {{ $x }}[k] != "unconfined" || !(k.startsWith("container.apparmor.security.beta.kubernetes.io/") ||
{{- " " }}k.startsWith("container.seccomp.security.alpha.kubernetes.io/") || k.startsWith("seccomp.security.alpha.kubernetes.io/")))
{{- else if eq .want "empty" -}} (type({{ $x }}) == list && size({{ $x }}) == 0)
{{- else if eq .want "confined" -}} (type({{ $x }}) == string && !({{ $x }} in ["Unconfined", "Unmasked"]))
{{- else -}} (type({{ $x }}) == string && ({{ eq .want "account" | ternary (printf "%s in [\"\", \"default\"]" $x) "false" }}
{{- range .names -}}
{{- if hasSuffix "*" . }} || {{ $x }}.startsWith({{ trimSuffix "*" . | quote }}){{ else }} || {{ $x }} == {{ quote . }}{{ end -}}
{{- end -}}
))
{{- end -}}
{{- else -}}
{{- $name := first .path -}}
{{- $plain := trimSuffix "[]" $name -}}
{{- $at := printf "%s.%s" $x $plain -}}
{{- $each := printf "e%d" (int .depth) -}}
{{- $inner := dict "path" (rest .path) "want" .want "names" .names "depth" (add1 .depth) -}}
{{- if eq $name "*" -}}
{{- $at = printf "%s[%s]" $x $each -}}
{{ $x }}.all({{ $each }}, type({{ $at }}) != map || {{ include "windlass.cel" (set $inner "x" $at) }})
{{- else if hasPrefix "~" $name -}}
{{- $at = printf "%s[%s]" $x $each -}}
{{ $x }}.all({{ $each }}, {{ $each }}.lowerAscii() != {{ trimPrefix "~" $name | lower | quote }} || {{ include "windlass.cel" (set $inner "x" $at) }})
{{- else if hasSuffix "[]" $name -}}
(!has({{ $at }}) || {{ $at }} == null || {{ $at }}.all({{ $each }}, {{ include "windlass.cel" (set $inner "x" $each) }}))
{{- else if and (eq .want "kept") (not (rest .path)) -}}
(!has({{ $at }}) || {{ $at }} != null)
{{- else -}}
(!has({{ $at }}) || {{ $at }} == null || {{ include "windlass.cel" (set $inner "x" $at) }})
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "windlass.jobPolicySpec" -}}
hostPath absent volumes[].hostPath
images listed image
images listed scorer.command.image
images listed scorer.endpoint.server.image
serviceAccounts account serviceAccountName
nodeIdentity no-node buckets[].identity
secrets listed volumes[].blobfuse.secretName
secrets listed volumes[].azureFile.secretName
secrets listed stores[].secretName
secrets listed buckets[].secretName
secrets listed secrets[].secretName
secrets listed signingKey.secretName
secrets listed input.table.query.connection.secretName
secrets listed scorer.endpoint.key.secretName
secrets listed scorer.endpoint.clientCertificate.secretName
secrets listed imagePullSecrets[].name
{{- end -}}

{{- define "windlass.jobPolicyTemplate" -}}
privileged notes metadata.annotations
{{- end -}}

{{- define "windlass.jobPolicyPod" -}}
hostPath absent volumes[].hostPath
hostPath absent volumes[].flexVolume
hostPath absent volumes[].gitRepo
hostNamespaces false hostNetwork
hostNamespaces false hostPID
hostNamespaces false hostIPC
privileged false securityContext.windowsOptions.hostProcess
privileged kept securityContext
privileged kept securityContext.seccompProfile
privileged confined securityContext.seccompProfile.type
privileged confined securityContext.appArmorProfile.type
privileged container securityContext.seLinuxOptions.type
privileged no-text securityContext.seLinuxOptions.user
privileged no-text securityContext.seLinuxOptions.role
serviceAccounts account serviceAccountName
serviceAccounts account serviceAccount
images listed volumes[].image.reference
secrets listed imagePullSecrets[].name
secrets listed volumes[].secret.secretName
secrets listed volumes[].projected.sources[].secret.name
secrets listed volumes[].csi.nodePublishSecretRef.name
secrets listed volumes[].csi.volumeAttributes.~secretName
secrets listed volumes[].azureFile.secretName
secrets listed volumes[].*.secretRef.name
{{- end -}}

{{- define "windlass.jobPolicyContainer" -}}
hostNamespaces false ports[].hostPort
hostNamespaces no-text *.httpGet.host
hostNamespaces no-text *.tcpSocket.host
hostNamespaces no-text lifecycle.*.httpGet.host
hostNamespaces no-text lifecycle.*.tcpSocket.host
privileged false securityContext.privileged
privileged empty securityContext.capabilities.add
privileged confined securityContext.procMount
privileged false securityContext.windowsOptions.hostProcess
privileged confined securityContext.seccompProfile.type
privileged confined securityContext.appArmorProfile.type
privileged container securityContext.seLinuxOptions.type
privileged no-text securityContext.seLinuxOptions.user
privileged no-text securityContext.seLinuxOptions.role
images listed image
secrets listed envFrom[].secretRef.name
secrets listed env[].valueFrom.secretKeyRef.name
{{- end -}}

{{- /* One validation for each row that the policy asks for. rows: the text; over: a variable, a list; where: for people.
Where accounts or Secrets are limited, nodeIdentity is false unless it says true. */ -}}
{{- define "windlass.jobPolicyRows" -}}
{{- $all := . -}}
{{- $policy := deepCopy .policy -}}
{{- if and (or (hasKey $policy "serviceAccounts") (hasKey $policy "secrets")) (not (hasKey $policy "nodeIdentity")) -}}
{{- $_ := set $policy "nodeIdentity" false -}}
{{- end -}}
{{- range splitList "\n" .rows }}
{{- $row := splitList " " . }}
{{- $part := index $row 0 }}
{{- $asked := get $policy $part }}
{{- if and (hasKey $policy $part) (or (kindIs "slice" $asked) (not $asked)) }}
{{- $names := kindIs "slice" $asked | ternary $asked (list) }}
{{- $cel := include "windlass.cel" (dict "x" "x" "path" (splitList "." (index $row 2)) "want" (index $row 1) "names" $names "depth" 0) }}
- expression: {{ printf (ternary "variables.%s.all(l, l.all(x, %s))" "variables.%s.all(x, %s)" (hasKey $all "each")) $all.over $cel | quote }}
  message: {{ printf "%s%s: is refused by this cluster's administrator (%s)" $all.where (index $row 2 | replace "~" "") $part | quote }}
{{- end }}
{{- end }}
{{- end -}}
