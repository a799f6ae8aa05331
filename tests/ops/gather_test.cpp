#include <gtest/gtest.h>

#include <limits>

#include "op_case.h"

namespace ec::test {
namespace {

const Value kMatrix = f32({3, 2}, {1, 2, 3, 4, 5, 6});

// --- gather
// ---------------------------------------------------------------------------------------

TEST(Gather, TakesEntries) {
  expect_case({OpKind::Gather,
               {kMatrix, i64({2, 2}, {0, 1, -1, 2})},
               {f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 5, 6})}});
  expect_case(
      {OpKind::Gather, {kMatrix, i32({1}, {-1})}, {f32({3, 1}, {2, 4, 6})}, GatherAttrs{1}});
  expect_case({OpKind::Gather, {kMatrix, scalar(DType::I64, 1)}, {f32({2}, {3, 4})}});
  expect_case({OpKind::Gather, {kMatrix, i64({0}, {})}, {f32({0, 2}, {})}});
  expect_case({OpKind::Gather,
               {tensor(DType::F64, {3}, {1, 2, 3}), i64({2}, {2, 0})},
               {tensor(DType::F64, {2}, {3, 1})}});
}

TEST(Gather, Inference) {
  const Dim n = sym("N");
  expect_types(OpKind::Gather, {typed(DType::F32, {10, n, 3}), typed(DType::I64, {4, 5})},
               GatherAttrs{1}, {"f32[10,4,5,3]"});
  expect_types(OpKind::Gather, {typed(DType::F32, {10}), unranked(DType::I64)}, {}, {"f32[*]"});
  expect_dims(OpKind::Gather, {Known::shape_tensor({n, 3, 5}), i64({2}, {-1, 0})}, {}, "[5,N]");
  expect_dims(OpKind::Gather, {Known::shape_tensor({n, 3, 5}), scalar(DType::I64, 0)}, {}, "[N]");
  expect_dims(OpKind::Gather, {Known::shape_tensor({n, 3}), typed(DType::I64, {})}, {}, "none");
  expect_infer_error(OpKind::Gather, {Known::shape_tensor({n, 3}), scalar(DType::I64, 2)}, {},
                     Code::BadValue, "index 2");
  expect_infer_error(OpKind::Gather, {typed(DType::F32, {}), scalar(DType::I64, 0)}, {},
                     Code::BadValue, "axis 0");
  expect_infer_error(OpKind::Gather, {typed(DType::F32, {3}), scalar(DType::F32, 0)}, {},
                     Code::TypeMismatch, "integer");
}

TEST(Gather, ChecksIndices) {
  for (const int64_t bad : {int64_t{3}, int64_t{-4}, INT64_MAX, INT64_MIN})
    expect_run_error(OpKind::Gather, {kMatrix, Value::of<int64_t>({1}, std::vector<int64_t>{bad})},
                     {}, "outside a dimension of size 3");
  expect_run_error(OpKind::Gather, {f32({0, 2}, {}), i64({1}, {0})}, {}, "size 0");
}

TEST(GatherElements, TakesOneElementPerIndex) {
  expect_case({OpKind::GatherElements,
               {f32({2, 2}, {1, 2, 3, 4}), i64({2, 2}, {0, 0, 1, 0})},
               {f32({2, 2}, {1, 1, 4, 3})},
               GatherAttrs{1}});
  expect_case({OpKind::GatherElements,
               {u8({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), i32({2, 3}, {1, 2, 0, -1, 0, 0})},
               {u8({2, 3}, {4, 8, 3, 7, 2, 3})}});
  expect_infer_error(OpKind::GatherElements, {typed(DType::F32, {3}), typed(DType::I64, {1, 1})},
                     {}, Code::ShapeMismatch, "rank");
  expect_infer_error(OpKind::GatherElements, {typed(DType::F32, {3, 2}), typed(DType::I64, {1, 3})},
                     {}, Code::ShapeMismatch, "beyond");
  expect_infer_error(OpKind::GatherElements, {typed(DType::F32, {2}), i64({1}, {2})}, {},
                     Code::BadValue, "index 2");
}

TEST(GatherNd, TakesBlocks) {
  const Value x = i32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  expect_case({OpKind::GatherNd, {x, i64({2, 2}, {0, 1, 1, 0})}, {i32({2, 2}, {2, 3, 4, 5})}});
  expect_case({OpKind::GatherNd, {x, i64({1, 3}, {1, -1, 0})}, {i32({1}, {6})}});
  expect_case(
      {OpKind::GatherNd, {x, i64({2, 1}, {1, 0})}, {i32({2, 2}, {2, 3, 4, 5})}, GatherNdAttrs{1}});
  const Dim n = sym("N");
  expect_types(OpKind::GatherNd, {typed(DType::F32, {n, 4, 5}), typed(DType::I64, {n, 7, 1})},
               GatherNdAttrs{1}, {"f32[N,7,5]"});
  expect_types(OpKind::GatherNd, {typed(DType::F32, {4, 5}), typed(DType::I64, {7, n})}, {},
               {"f32[*]"});
  expect_infer_error(OpKind::GatherNd, {typed(DType::F32, {4, 5}), typed(DType::I64, {7, 3})}, {},
                     Code::ShapeMismatch, "tuples of 3");
  expect_infer_error(OpKind::GatherNd, {typed(DType::F32, {4, 5}), typed(DType::I64, {5, 1})},
                     GatherNdAttrs{1}, Code::ShapeMismatch, "batch dimension");
  expect_infer_error(OpKind::GatherNd, {typed(DType::F32, {4}), typed(DType::I64, {4, 1})},
                     GatherNdAttrs{1}, Code::ShapeMismatch, "batch_dims 1");
  expect_infer_error(OpKind::GatherNd, {typed(DType::F32, {4}), typed(DType::I64, {4, 1})},
                     GatherNdAttrs{-1}, Code::BadValue, "negative");
  expect_run_error(OpKind::GatherNd, {x, i64({1, 2}, {0, 2})}, {}, "index 2");
}

// --- scatter
// --------------------------------------------------------------------------------------

TEST(ScatterElements, Replaces) {
  expect_case({OpKind::ScatterElements,
               {f32({1, 5}, {1, 2, 3, 4, 5}), i64({1, 2}, {1, -2}), f32({1, 2}, {10, 20})},
               {f32({1, 5}, {1, 10, 3, 20, 5})},
               ScatterElementsAttrs{1, Reduction::None}});
  expect_case({OpKind::ScatterElements,
               {f32({3, 2}, {0, 0, 0, 0, 0, 0}), i64({1, 2}, {2, 0}), f32({1, 2}, {7, 8})},
               {f32({3, 2}, {0, 8, 0, 0, 7, 0})}});
}

TEST(ScatterElements, Reduces) {
  const auto reduced = [](DType dtype, Reduction reduction, const std::vector<double>& expected) {
    expect_case(
        {OpKind::ScatterElements,
         {tensor(dtype, {3}, {2, 3, 4}), i64({3}, {1, 1, 0}), tensor(dtype, {3}, {5, 2, 1})},
         {tensor(dtype, {3}, expected)},
         ScatterElementsAttrs{0, reduction}});
  };
  for (const DType dtype :
       {DType::F32, DType::F16, DType::F64, DType::I8, DType::U64, DType::BF16}) {
    reduced(dtype, Reduction::Add, {3, 10, 4});
    reduced(dtype, Reduction::Mul, {2, 30, 4});
    reduced(dtype, Reduction::Max, {2, 5, 4});
    reduced(dtype, Reduction::Min, {1, 2, 4});
  }
}

TEST(ScatterElements, Errors) {
  const Known x = typed(DType::F32, {3, 2});
  const auto refuses = [&](const Known& indices, const Known& updates, Code code,
                           std::string_view text) {
    expect_infer_error(OpKind::ScatterElements, {x, indices, updates}, {}, code, text);
  };
  refuses(typed(DType::I64, {1, 2}), typed(DType::F32, {2, 2}), Code::ShapeMismatch, "differ");
  refuses(typed(DType::I64, {1}), typed(DType::F32, {1}), Code::ShapeMismatch, "rank");
  refuses(typed(DType::I64, {1, 3}), typed(DType::F32, {1, 3}), Code::ShapeMismatch, "beyond");
  refuses(typed(DType::I64, {1, 2}), typed(DType::I8, {1, 2}), Code::TypeMismatch, "types");
  expect_run_error(OpKind::ScatterElements, {kMatrix, i64({1, 1}, {3}), f32({1, 1}, {0})}, {},
                   "index 3");
}

TEST(ScatterNd, ReplacesAndReduces) {
  expect_case({OpKind::ScatterNd,
               {f32({4}, {1, 2, 3, 4}), i64({2, 1}, {3, 0}), f32({2}, {9, 8})},
               {f32({4}, {8, 2, 3, 9})}});
  expect_case({OpKind::ScatterNd,
               {kMatrix, i64({2, 1}, {1, 1}), f32({2, 2}, {10, 20, 30, 40})},
               {f32({3, 2}, {1, 2, 43, 64, 5, 6})},
               ScatterNdAttrs{Reduction::Add}});
  expect_case({OpKind::ScatterNd,
               {kMatrix, i64({1, 2}, {-1, -1}), f32({1}, {0})},
               {f32({3, 2}, {1, 2, 3, 4, 5, 0})},
               ScatterNdAttrs{Reduction::Min}});
  expect_infer_error(
      OpKind::ScatterNd,
      {typed(DType::F32, {3, 2}), typed(DType::I64, {4, 1}), typed(DType::F32, {4, 3})}, {},
      Code::ShapeMismatch, "updates");
  expect_infer_error(OpKind::ScatterNd,
                     {typed(DType::F32, {3}), typed(DType::I64, {4, 2}), typed(DType::F32, {4})},
                     {}, Code::ShapeMismatch, "tuples of 2");
  expect_infer_error(OpKind::ScatterNd,
                     {typed(DType::F32, {3}), typed(DType::I64, {}), typed(DType::F32, {})}, {},
                     Code::ShapeMismatch, "rank 1");
  expect_run_error(OpKind::ScatterNd, {kMatrix, i64({1, 1}, {-4}), f32({1, 2}, {0, 0})}, {},
                   "index -4");
}

TEST(TensorScatter, WritesIntoACache) {
  const Value cache = f32({2, 3, 1}, {0, 0, 0, 0, 0, 0});
  const Value update = f32({2, 2, 1}, {1, 2, 3, 4});
  expect_case({OpKind::TensorScatter, {cache, update}, {f32({2, 3, 1}, {1, 2, 0, 3, 4, 0})}});
  expect_case({OpKind::TensorScatter,
               {cache, update, i64({2}, {1, 0})},
               {f32({2, 3, 1}, {0, 1, 2, 3, 4, 0})}});
  expect_case({OpKind::TensorScatter,
               {cache, update, i64({2}, {2, 4})},
               {f32({2, 3, 1}, {2, 0, 1, 0, 3, 4})},
               TensorScatterAttrs{1, true}});
  expect_run_error(OpKind::TensorScatter, {cache, update, i64({2}, {2, 0})}, {}, "write index 2");
  expect_run_error(OpKind::TensorScatter, {cache, update, i64({2}, {-1, 0})},
                   TensorScatterAttrs{1, true}, "write index -1");
  const Value far = Value::of<int64_t>({2}, std::vector<int64_t>{INT64_MAX, 0});
  expect_run_error(OpKind::TensorScatter, {cache, update, far}, {}, "write index");
  EXPECT_TRUE(
      run_op(OpKind::TensorScatter, {cache, update, far}, TensorScatterAttrs{1, true}).ok());
  expect_infer_error(OpKind::TensorScatter, {cache, typed(DType::F32, {2, 4, 1})}, {},
                     Code::ShapeMismatch, "longer");
  expect_infer_error(OpKind::TensorScatter, {cache, update}, TensorScatterAttrs{0, false},
                     Code::BadValue, "batch");
}

// --- select
// ---------------------------------------------------------------------------------------

TEST(OneHot, PutsOnValues) {
  const Value values = f32({2}, {1, 3});
  expect_case({OpKind::OneHot,
               {i64({3}, {0, -1, 5}), scalar(DType::I64, 3), values},
               {f32({3, 3}, {3, 1, 1, 1, 1, 3, 1, 1, 1})}});
  expect_case({OpKind::OneHot,
               {f32({2}, {1, 0}), f32({1}, {2}), i8({2}, {0, 1})},
               {i8({2, 2}, {0, 1, 1, 0})},
               OneHotAttrs{0}});
  expect_types(OpKind::OneHot,
               {typed(DType::I64, {sym("N"), 2}), Known::dim_scalar(sym("C")), values},
               OneHotAttrs{1}, {"f32[N,C,2]"});
  expect_infer_error(OpKind::OneHot, {typed(DType::I64, {2}), scalar(DType::I64, -1), values}, {},
                     Code::BadValue, "depth is -1");
  expect_infer_error(OpKind::OneHot, {typed(DType::I64, {2}), scalar(DType::I64, 3), f32({1}, {1})},
                     {}, Code::ShapeMismatch, "values");
  expect_run_error(OpKind::OneHot, {i64({1}, {0}), scalar(DType::F64, 1e30), values}, {},
                   "too large");
}

TEST(NonZero, ListsPositions) {
  expect_case(
      {OpKind::NonZero, {f32({2, 3}, {1, 0, -2, 0, -0.0, 3})}, {i64({2, 3}, {0, 0, 1, 0, 2, 2})}});
  expect_case({OpKind::NonZero, {boolean({2}, {0, 0})}, {i64({1, 0}, {})}});
  expect_case({OpKind::NonZero, {scalar(DType::I32, 4)}, {i64({0, 1}, {})}});
  expect_types(OpKind::NonZero, {typed(DType::F32, {2, sym("N")})}, {}, {"i64[2,?]"});
  expect_types(OpKind::NonZero, {unranked(DType::F32)}, {}, {"i64[?,?]"});
}

TEST(Compress, SelectsEntries) {
  const auto along = [](int64_t axis) { return CompressAttrs{false, axis}; };
  expect_case({OpKind::Compress,
               {kMatrix, boolean({3}, {0, 1, 1})},
               {f32({2, 2}, {3, 4, 5, 6})},
               along(0)});
  expect_case(
      {OpKind::Compress, {kMatrix, boolean({2}, {0, 1})}, {f32({3, 1}, {2, 4, 6})}, along(-1)});
  expect_case({OpKind::Compress, {kMatrix, boolean({5}, {0, 1, 0, 0, 1})}, {f32({2}, {2, 5})}});
  expect_case({OpKind::Compress, {kMatrix, boolean({1}, {0})}, {f32({0, 2}, {})}, along(0)});
  expect_run_error(OpKind::Compress, {kMatrix, boolean({4}, {0, 0, 0, 1})}, along(0), "entry 3");
  expect_infer_error(OpKind::Compress, {kMatrix, i64({1}, {1})}, {}, Code::TypeMismatch, "boolean");
  expect_infer_error(OpKind::Compress, {kMatrix, boolean({1}, {1})}, along(2), Code::BadValue,
                     "axis 2");
}

TEST(Unique, SortedAndByOccurrence) {
  const Value x = f32({6}, {2, 1, 1, 3, 4, 3});
  expect_case({OpKind::Unique,
               {x},
               {f32({4}, {1, 2, 3, 4}), i64({4}, {1, 0, 3, 4}), i64({6}, {1, 0, 0, 2, 3, 2}),
                i64({4}, {2, 1, 2, 1})}});
  expect_case({OpKind::Unique,
               {x},
               {f32({4}, {2, 1, 3, 4}), i64({4}, {0, 1, 3, 4}), i64({6}, {0, 1, 1, 2, 3, 2}),
                i64({4}, {1, 2, 2, 1})},
               UniqueAttrs{true, 0, false}});
  expect_case({OpKind::Unique, {f32({0}, {})}, {f32({0}, {})}});
}

TEST(Unique, EntriesAlongAnAxis) {
  expect_case(
      {OpKind::Unique,
       {i32({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4})},
       {i32({2, 3}, {1, 0, 0, 2, 3, 4}), i64({2}, {0, 2}), i64({3}, {0, 0, 1}), i64({2}, {2, 1})},
       UniqueAttrs{false, 0, true}});
  expect_case({OpKind::Unique,
               {f32({2, 4}, {1, 0, 2, 0, 1, 1, 1, 1})},
               {f32({2, 3}, {0, 1, 2, 1, 1, 1}), i64({3}, {1, 0, 2}), i64({4}, {1, 0, 2, 0}),
                i64({3}, {2, 1, 1})},
               UniqueAttrs{false, -1, true}});
  expect_infer_error(OpKind::Unique, {typed(DType::F32, {2})}, UniqueAttrs{false, 1, true},
                     Code::BadValue, "axis 1");
}

TEST(Unique, NanIsOneValueAboveAll) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_case(
      {OpKind::Unique,
       {f32({4}, {nan, 1, nan, 0})},
       {f32({3}, {0, 1, nan}), i64({3}, {3, 1, 0}), i64({4}, {2, 1, 2, 0}), i64({3}, {1, 1, 2})}});
}

TEST(Unique, HugeEmptyTensorIsRefused) {
  const Value x(DType::F32, {int64_t{1} << 60, 0}, Blob());
  expect_run_error(OpKind::Unique, {x}, UniqueAttrs{false, 0, true}, "too large");
}

}  // namespace
}  // namespace ec::test
