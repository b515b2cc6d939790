// SPDX-License-Identifier: Apache-2.0
/* In a file of its own for the reason of onnx/model_digest.c. */
#include "agent/engine/model.h"
#include "agent/engine/run/session_state.h"

int session_model_digest(const struct session *session, char hex[static 65], struct error *err) {
    return model_digest(session->model, hex, err);
}
