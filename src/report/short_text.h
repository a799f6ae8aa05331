// Text of a model in lists with a row for each operation.
#pragma once

#include <string>

namespace ec {

// Names of open sizes come from the file and stand in the type of everything that follows from
// them: with all of their text, a list of layers would be far larger than the model.
std::string short_text(std::string text);

}  // namespace ec
