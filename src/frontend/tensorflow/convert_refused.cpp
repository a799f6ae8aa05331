// Operators that are known and refused, each with what to do instead.
#include "frontend/tensorflow/table.h"

namespace ec::tf {
namespace {

// Loops that freezing took apart: the graph has cycles, and no function tells the body.
Status lowered_loop(OpContext& ctx) {
  if (!ctx.importer().first_time("lowered loop")) return ctx.poison(), ok_status();
  return ctx
      .fail(Code::UnsupportedOpForm,
            "the graph was frozen with lowered loops (Enter/Exit/Switch/Merge)")
      .hint("freeze with lower_control_flow=False or give the SavedModel");
}

Status table(OpContext& ctx) {
  return ctx.unsupported("lookup tables are not supported")
      .hint("look tokens up before the model and export it from their numbers on");
}

constexpr Arity kAny{0, kMany};
constexpr Takes kNone = Takes::Nothing;

constexpr OpRow kRows[] = {
    {"Enter", kAny, lowered_loop, kNone},         {"RefEnter", kAny, lowered_loop, kNone},
    {"Exit", kAny, lowered_loop, kNone},          {"RefExit", kAny, lowered_loop, kNone},
    {"NextIteration", kAny, lowered_loop, kNone}, {"RefNextIteration", kAny, lowered_loop, kNone},
    {"LoopCond", kAny, lowered_loop, kNone},      {"HashTable", kAny, table, kNone},
    {"HashTableV2", kAny, table, kNone},          {"MutableHashTable", kAny, table, kNone},
    {"MutableHashTableV2", kAny, table, kNone},   {"MutableDenseHashTableV2", kAny, table, kNone},
    {"LookupTableFind", kAny, table, kNone},      {"LookupTableFindV2", kAny, table, kNone},
    {"LookupTableSizeV2", kAny, table, kNone},
};

}  // namespace

const std::span<const OpRow> kRefusedRows = kRows;

}  // namespace ec::tf
