// The border: where operands and attributes are checked and normalised, once for every op, from
// the rules of the op table. Inference runs behind it, so whatever adds an operation (a front end,
// a pass, the text parser, Python) and whatever runs one (folding, the interpreter, the executor)
// goes through the same checks, in nested graphs too.
#pragma once

#include <string>
#include <vector>

#include "ops/infer.h"

namespace ec {

// Checks the operation behind `ctx` against the op table and normalises the attributes that the
// context hands out: axes and permutations count from the front where the rank is known.
Status check_border(InferContext& ctx);

// Stores the normalised attributes in every operation of the graph and its bodies. For graphs whose
// types are final: while a loop's carried types are searched for, a rank may still be taken back.
void normalise_attributes(Graph& graph);

// Operand and attribute names of the table's rules that do not exist; for the test of the table.
std::vector<std::string> unresolved_rules();

}  // namespace ec
