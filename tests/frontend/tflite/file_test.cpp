// What a file has to obey before anything in it is followed.
#include <gtest/gtest.h>

#include "formats/tflite/model_file.h"
#include "formats/tflite/sparse.h"
#include "frontend/tflite/model_builder.h"

namespace ec::tflite::testing {
namespace {

std::vector<Code> faults_of(const Blob& file) {
  DiagnosticSink sink;
  const auto opened = ModelFile::open(file, sink);
  EXPECT_EQ(opened.ok(), !sink.has_errors());
  std::vector<Code> codes;
  for (const Diagnostic& d : sink.diagnostics()) {
    EXPECT_FALSE(d.message.empty());
    EXPECT_FALSE(d.hint.empty()) << d.message;
    codes.push_back(d.code);
  }
  return codes;
}

std::vector<Code> faults_of(const ModelSpec& spec) { return faults_of(build(spec)); }

TEST(TfliteFile, SoundFileOpens) {
  EXPECT_TRUE(faults_of(add_model()).empty());
  DiagnosticSink sink;
  const Blob bytes = build(add_model());
  const auto file = ModelFile::open(bytes, sink);
  ASSERT_TRUE(file.ok());
  const SubGraph& graph = file->subgraph(0);
  EXPECT_FALSE(file->constant_data(*graph.tensors()->Get(0)));
  const auto data = file->constant_data(*graph.tensors()->Get(1));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->size(), 16u);
  // A view of the file, not a copy.
  EXPECT_GE(data->bytes().data(), bytes.bytes().data());
  EXPECT_LE(data->bytes().data() + data->size(), bytes.bytes().data() + bytes.size());
}

TEST(TfliteFile, TruncationAndWrongIdentifier) {
  const Blob bytes = build(add_model());
  for (const size_t size : {size_t{0}, size_t{7}, size_t{8}, size_t{40}, bytes.size() / 2})
    EXPECT_EQ(faults_of(Blob::copy_of(bytes.bytes().first(size))), std::vector{Code::CorruptFile});
  std::vector<std::byte> other(bytes.bytes().begin(), bytes.bytes().end());
  other[4] = std::byte{'X'};
  EXPECT_EQ(faults_of(Blob::copy_of(std::span<const std::byte>(other))),
            std::vector{Code::CorruptFile});
}

TEST(TfliteFile, Version) {
  ModelSpec spec = add_model();
  spec.version = 2;
  EXPECT_EQ(faults_of(spec), std::vector{Code::UnsupportedFormat});
}

TEST(TfliteFile, IndicesThatLeaveTheirLists) {
  ModelSpec spec = add_model();
  spec.subgraphs[0].operators[0].inputs[1] = 3;
  spec.subgraphs[0].operators[0].outputs[0] = -1;
  spec.subgraphs[0].outputs[0] = 77;
  // All of them in one run.
  EXPECT_EQ(faults_of(spec), std::vector(3, Code::CorruptFile));
}

TEST(TfliteFile, BufferThatDoesNotExist) {
  ModelSpec spec = add_model();
  spec.subgraphs[0].tensors[0].buffer = 9;
  EXPECT_EQ(faults_of(spec), std::vector{Code::CorruptFile});
}

TEST(TfliteFile, BufferOutsideTheFile) {
  ModelSpec spec = add_model();
  spec.outside = {{1'000'000, 16}};
  EXPECT_EQ(faults_of(spec), std::vector{Code::CorruptFile});
  spec.outside = {{16, UINT64_MAX - 8}};
  EXPECT_EQ(faults_of(spec), std::vector{Code::CorruptFile});
}

TEST(TfliteFile, BufferBehindTheFlatbuffer) {
  ModelSpec spec = add_model();
  spec.subgraphs[0].tensors[1].data.clear();
  spec.subgraphs[0].tensors[1].buffer = 1;
  spec.outside = {{2, 16}};
  // The place is known once the size of the flatbuffer is.
  const size_t place = (build(spec).size() + 15) / 16 * 16;
  spec.outside = {{place, 16}};
  std::vector<std::byte> bytes(place + 16);
  const Blob built = build(spec);
  std::copy(built.bytes().begin(), built.bytes().end(), bytes.begin());
  bytes[place] = std::byte{42};
  DiagnosticSink sink;
  const auto file = ModelFile::open(Blob::copy_of(std::span<const std::byte>(bytes)), sink);
  ASSERT_TRUE(file.ok());
  const auto data = file->constant_data(*file->subgraph(0).tensors()->Get(1));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->bytes()[0], std::byte{42});
}

TEST(TfliteFile, DataThatDoesNotFitTheShape) {
  ModelSpec spec = add_model();
  spec.subgraphs[0].tensors[1].shape = {5};
  EXPECT_EQ(faults_of(spec), std::vector{Code::BadTensorData});
  spec.subgraphs[0].tensors[1].shape = {INT32_MAX, INT32_MAX, INT32_MAX};
  EXPECT_EQ(faults_of(spec), std::vector{Code::TooLarge});
  spec.subgraphs[0].tensors[1].shape = {-4};
  EXPECT_EQ(faults_of(spec), std::vector{Code::TooLarge});
}

TEST(TfliteFile, OptionsOfAnotherOperator) {
  ModelSpec spec = add_model();
  spec.subgraphs[0].operators[0].options_type = BuiltinOptions::SubOptions;
  EXPECT_EQ(faults_of(spec), std::vector{Code::BadAttribute});
}

TEST(TfliteFile, OrderOfOperators) {
  ModelSpec spec = add_model();
  spec.subgraphs[0].inputs.clear();  // now nothing computes x
  EXPECT_EQ(faults_of(spec), std::vector{Code::UndefinedName});
  spec = add_model();
  spec.subgraphs[0].operators.push_back(spec.subgraphs[0].operators[0]);  // y twice
  EXPECT_EQ(faults_of(spec), std::vector{Code::DuplicateName});
}

ModelSpec calling(int32_t then_graph, int32_t else_graph) {
  SubgraphSpec graph;
  graph.tensors = {{.name = "c", .shape = {}, .type = TensorType::BOOL},
                   {.name = "x", .shape = {2}},
                   {.name = "y", .shape = {2}}};
  graph.inputs = {0, 1};
  graph.outputs = {2};
  graph.operators = {
      {BuiltinOperator::IF, {0, 1}, {2}, BuiltinOptions::IfOptions, options([=](Fbb& fbb) {
         return CreateIfOptions(fbb, then_graph, else_graph);
       })}};
  return {.subgraphs = {graph}};
}

TEST(TfliteFile, SubgraphsThatCallThemselves) {
  EXPECT_EQ(faults_of(calling(0, 0)), std::vector{Code::TooDeep});
  EXPECT_EQ(faults_of(calling(0, 5)).front(), Code::CorruptFile);
  EXPECT_EQ(faults_of(calling(-1, 0)).front(), Code::CorruptFile);
}

TEST(TfliteFile, Quantisation) {
  ModelSpec spec = add_model();
  TensorSpec& c = spec.subgraphs[0].tensors[1];
  c.scales = {0.5f, 0.25f};
  c.zero_points = {0, 0};
  EXPECT_EQ(faults_of(spec), std::vector{Code::BadQuantParams});
  c.scales = {0.5f, 0.5f, 0.5f, 0.5f};
  c.zero_points = {0, 0, 0, 0};
  EXPECT_TRUE(faults_of(spec).empty());
  c.axis = 3;  // what early converters write for biases
  EXPECT_TRUE(faults_of(spec).empty());
  c.scales[2] = -1.0f;
  EXPECT_EQ(faults_of(spec), std::vector{Code::BadQuantParams});
}

TEST(TfliteFile, Signatures) {
  ModelSpec spec = add_model();
  spec.signatures = {{"serve", {{"in", 0}}, {{"out", 2}}}};
  EXPECT_TRUE(faults_of(spec).empty());
  spec.signatures[0].outputs[0].second = 1;
  EXPECT_EQ(faults_of(spec), std::vector{Code::CorruptFile});
  spec.signatures[0].subgraph = 4;
  EXPECT_EQ(faults_of(spec), std::vector{Code::CorruptFile});
}

// --- sparse tensors -----------------------------------------------------------------------------

// Rows are dense, columns compressed.
std::function<flatbuffers::Offset<SparsityParameters>(Fbb&)> csr(std::vector<int32_t> segments,
                                                                 std::vector<int32_t> indices) {
  return [=](Fbb& fbb) {
    const auto list = [&](const std::vector<int32_t>& values) {
      return CreateInt32Vector(fbb, fbb.CreateVector(values)).Union();
    };
    const auto rows = CreateDimensionMetadata(fbb, DimensionType::DENSE, 2);
    const auto columns =
        CreateDimensionMetadata(fbb, DimensionType::SPARSE_CSR, 0, SparseIndexVector::Int32Vector,
                                list(segments), SparseIndexVector::Int32Vector, list(indices));
    return CreateSparsityParameters(fbb, fbb.CreateVector(std::vector<int32_t>{0, 1}), 0,
                                    fbb.CreateVector(std::vector{rows, columns}));
  };
}

Result<std::vector<float>> densify(std::vector<int32_t> segments, std::vector<int32_t> indices,
                                   std::vector<float> values) {
  ModelSpec spec = add_model();
  TensorSpec& c = spec.subgraphs[0].tensors[1];
  c.shape = {2, 4};
  c.data = bytes_of(values);
  c.sparsity = csr(std::move(segments), std::move(indices));
  DiagnosticSink sink;
  const Blob bytes = build(spec);
  const auto file = ModelFile::open(bytes, sink);
  if (!file.ok()) return sink.first_error();
  const Tensor& tensor = *file->subgraph(0).tensors()->Get(1);
  EC_TRY(const Blob dense, dense_data(tensor, *file->constant_data(tensor), 1 << 20));
  const auto* begin = reinterpret_cast<const float*>(dense.bytes().data());
  return std::vector<float>(begin, begin + dense.size() / 4);
}

TEST(TfliteSparse, BecomesDense) {
  const auto dense = densify({0, 2, 3}, {1, 3, 0}, {5, 6, 7});
  ASSERT_TRUE(dense.ok()) << dense.error().message();
  EXPECT_EQ(*dense, (std::vector<float>{0, 5, 0, 6, 7, 0, 0, 0}));
}

TEST(TfliteSparse, Lies) {
  EXPECT_FALSE(densify({0, 2, 3}, {1, 4, 0}, {5, 6, 7}).ok());  // a column that is not there
  EXPECT_FALSE(densify({0, 2, 3}, {1, -1, 0}, {5, 6, 7}).ok());
  EXPECT_FALSE(densify({0, 2, 9}, {1, 3, 0}, {5, 6, 7}).ok());  // segments beyond the indices
  EXPECT_FALSE(densify({0, 3, 1}, {1, 3, 0}, {5, 6, 7}).ok());  // out of order
  EXPECT_FALSE(densify({0, 2}, {1, 3, 0}, {5, 6, 7}).ok());     // a row without a segment
  EXPECT_FALSE(densify({0, 2, 3}, {1, 3, 0}, {5, 6}).ok());     // fewer values than indices
}

}  // namespace
}  // namespace ec::tflite::testing
