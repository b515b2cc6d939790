/* model_fits.h: which postprocess types (score/post/) take a network's outputs, after a run on
 * zeros: the member `fits` of model_facts.h. Pure. */
#pragma once

#include "agent/score/post/post_kind.h"

struct model_fits_asked {
    const struct post_outputs *outputs;
    const char *items; /* what an item is: FACTS_... */
    bool has_states;   /* items go through the network step by step */
    bool takes_strips; /* its pictures are as high as a line of text, and of any width */
};

/* The fits, the likeliest first; owned. *ret_pictures: how a detector takes pictures, if its form
 * says it, static; else NULL. */
json_t *model_fits(const struct model_fits_asked *asked, const char **ret_pictures);

/* Whether the values along the last axis are probabilities of things of which one is right. */
bool model_fits_are_probabilities(const struct tensor *output);
/* A name of the network as a printable JSON string; owned. */
json_t *model_fits_name(const char *text);
