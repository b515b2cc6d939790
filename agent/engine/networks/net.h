/* net.h: the layers that networks.c builds networks from. Values are named by their indices in the
 * graph; names are copied. Used by agent/engine/networks. */
#pragma once

#include "agent/engine/graph.h"

struct net {
    struct graph graph;
    size_t value_room, node_room;
    uint64_t random;
    bool is_smooth;
};

/* input: dims of a sample [c, h, w]. *ret_input: the value [n, c, h, w]. */
void net_init(struct net *net, uint64_t seed, const int64_t shape[3], int *ret_input);
/* The last value becomes "logits" [n, classes]; the caller owns the graph. */
void net_finish(struct net *net, int value, int64_t classes, struct graph *ret_graph);

struct net_conv_shape {
    int64_t from, to; /* channels */
    int64_t kernel, stride;
};
/* Padded so that stride 1 keeps the size. has_bias: false if a norm follows. */
int net_conv(struct net *net, const char *name, int input, struct net_conv_shape conv,
             bool has_bias);
int net_norm(struct net *net, const char *name, int input, int64_t channels);
/* A relu; tanh if the network is smooth. */
int net_activate(struct net *net, const char *name, int input);
int net_add(struct net *net, const char *name, int left, int right);
/* Windows of `kernel` at `stride`: maximum pool; average pool if the network is smooth. */
int net_pool(struct net *net, const char *name, int input, int64_t kernel, int64_t stride,
             int64_t pad);
int net_global_average(struct net *net, const char *name, int input);
int net_flatten(struct net *net, const char *name, int input);
/* is_last: no relu follows. */
int net_dense(struct net *net, const char *name, int input, const int64_t from_to[2], bool is_last);
