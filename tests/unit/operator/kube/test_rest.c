// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/rest.h"

#include "tests/test.h"

static void test_paths(void) {
    static const struct {
        struct rest_place place;
        const char *path; /* NULL: refused */
    } rows[] = {
        {{"v1", "Pod", NULL, NULL, NULL}, "/api/v1/pods"},
        {{"v1", "Pod", "", NULL, NULL}, "/api/v1/pods"},
        {{"v1", "Pod", "a", NULL, NULL}, "/api/v1/namespaces/a/pods"},
        {{"v1", "Pod", "a", "b", "log"}, "/api/v1/namespaces/a/pods/b/log"},
        {{"windlass.dev/v1alpha1", "BatchScore", "a", "b", "status"},
         "/apis/windlass.dev/v1alpha1/namespaces/a/batchscores/b/status"},
        {{"coordination.k8s.io/v1", "Lease", "a", "b", NULL},
         "/apis/coordination.k8s.io/v1/namespaces/a/leases/b"},
        {{"networking.k8s.io/v1", "NetworkPolicy", "a", NULL, NULL},
         "/apis/networking.k8s.io/v1/namespaces/a/networkpolicies"},
        {{"v1", "Node", "default", "n", NULL}, "/api/v1/nodes/n"},
        {{"rbac.authorization.k8s.io/v1", "ClusterRole", "x", "system:node", NULL},
         "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"},
        {{"v1", "Pod", "a/../b", NULL, NULL}, NULL},
        {{"v1", "Pod", "a", "..", NULL}, NULL},
        {{"v1", "Pod", "a", "b?x", NULL}, NULL},
        {{"v1", "Pod", "a", "", NULL}, NULL},
        {{"v1", "Po/d", "a", NULL, NULL}, NULL},
        {{"", "Pod", "a", NULL, NULL}, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep) char *path = NULL;
        int result = rest_path(&rows[i].place, &path, &err);
        CHECK_INT(result, rows[i].path ? 0 : -1);
        if (rows[i].path) {
            CHECK_STR(path, rows[i].path);
        } else {
            CHECK_INT(err.kind, ERROR_INVALID);
        }
    }
}

static void test_plurals(void) {
    static const char *const rows[][2] = {{"Pod", "pods"},
                                          {"BatchScore", "batchscores"},
                                          {"Endpoints", "endpoints"},
                                          {"Ingress", "ingresses"},
                                          {"StorageClass", "storageclasses"},
                                          {"NetworkPolicy", "networkpolicies"},
                                          {"Gateway", "gateways"},
                                          {"Event", "events"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *plural = rest_plural(rows[i][0]);
        CHECK_STR(plural, rows[i][1]);
    }
}

int main(void) {
    TEST(test_paths);
    TEST(test_plurals);
    return TEST_END();
}
