// Which forms of operations programs have, for passes that bring the others into them.
#pragma once

#include "ir/graph.h"

namespace ec {

// A recurrent layer that `lstm` computes, a resize that one of the resizing operations does, slopes
// that `prelu` takes.
bool has_coreml_lstm(const Operation& op);
bool has_coreml_resize(const Operation& op);
bool has_coreml_prelu(const Operation& op);
// Attention without caches, windows or factors of its own, on equal numbers of heads.
bool has_coreml_attention(const Operation& op);

}  // namespace ec
