// Choosing the front end of a model by its content. A model that none of them reads is told what it
// is and how to get a readable one.
#pragma once

#include <optional>
#include <span>

#include "frontend/frontend.h"

namespace ec {

// The front end that is surest about the model. Errors: UnsupportedFormat for a known kind of file,
// UnknownFormat for anything else.
Result<const Frontend*> choose_frontend(std::span<const Frontend* const> frontends,
                                        const ModelSource& source);

// What a model is that none of these front ends reads, if it is anything known: the front ends of
// the same family are asked first.
std::optional<DetectedFormat> describe_unreadable(std::span<const Frontend* const> frontends,
                                                  const ModelSource& source);

}  // namespace ec
