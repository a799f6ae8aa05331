// For every op of the table, operands and attributes that follow its rules more often than not. The
// last word has inference: a call that it refuses is made anew.
#pragma once

#include <span>

#include "fuzz/op/builder.h"

namespace ec::fuzz {

using RecipeFn = void (*)(Builder& b, Call& call);

struct Recipe {
  OpKind kind;
  RecipeFn fill;
};

// One list per family; recipes.cpp joins them.
extern const std::span<const Recipe> kElementwiseRecipes, kReduceRecipes, kNormRecipes,
    kLinearRecipes, kWindowRecipes, kImageRecipes, kSequenceRecipes, kSignalRecipes, kShapeRecipes,
    kMovementRecipes, kIndexRecipes, kQuantRecipes, kControlRecipes;

// Null: the op has none.
const Recipe* find_recipe(OpKind kind);

// Operands and attributes of any kind, as far as the signature tells how many there are.
void fill_wild(Builder& b, Call& call);
// Changes one thing of a call.
void disturb_call(Builder& b, Call& call);

}  // namespace ec::fuzz
