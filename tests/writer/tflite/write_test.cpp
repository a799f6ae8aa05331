// Graphs written as TFLite files, read back through the generated accessors.
#include "writer/tflite/tflite.h"

#include <gtest/gtest.h>

#include "formats/tflite/builtin_operator.h"
#include "formats/tflite/schema.h"
#include "ir/text.h"
#include "ops/attrs.h"

namespace ec {
namespace {

using tflite::ActivationFunctionType;
using tflite::BuiltinOperator;
using tflite::Padding;

// The bytes with accessors on them.
class File {
 public:
  explicit File(Blob bytes) : bytes_(std::move(bytes)) {
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes_.bytes().data()),
                                   bytes_.size());
    EXPECT_TRUE(tflite::VerifyModelBuffer(verifier));
  }
  const tflite::Model& model() const { return *tflite::GetModel(bytes_.bytes().data()); }
  const tflite::SubGraph& graph() const { return *model().subgraphs()->Get(0); }
  size_t size() const { return graph().operators()->size(); }
  const tflite::Operator& op(size_t i) const {
    return *graph().operators()->Get(static_cast<uint32_t>(i));
  }
  const tflite::OperatorCode& code(size_t i) const {
    return *model().operator_codes()->Get(op(i).opcode_index());
  }
  std::string name(size_t i) const {
    return std::string(tflite::builtin_name(code(i).builtin_code()));
  }
  // "PAD CONV_2D"
  std::string names() const {
    std::string text;
    for (size_t i = 0; i < size(); ++i) text += (i == 0 ? "" : " ") + name(i);
    return text;
  }
  const tflite::Tensor& input(size_t i, uint32_t k) const {
    return *graph().tensors()->Get(static_cast<uint32_t>(op(i).inputs()->Get(k)));
  }
  const tflite::Tensor& output(size_t i, uint32_t k = 0) const {
    return *graph().tensors()->Get(static_cast<uint32_t>(op(i).outputs()->Get(k)));
  }
  template <class T>
  std::vector<T> data(const tflite::Tensor& tensor) const {
    const auto* bytes = model().buffers()->Get(tensor.buffer())->data();
    std::vector<T> values(bytes->size() / sizeof(T));
    std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }
  const Blob& bytes() const { return bytes_; }

 private:
  Blob bytes_;
};

std::vector<int> shape_of(const tflite::Tensor& tensor) {
  return {tensor.shape()->begin(), tensor.shape()->end()};
}

std::unique_ptr<Graph> graph_of(std::string_view text) {
  auto graph = parse(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : format_diagnostic(graph.error().diagnostic()));
  return graph.ok() ? std::move(*graph) : nullptr;
}

File write(std::string_view text, const TfliteWriteOptions& options = {}) {
  const std::unique_ptr<Graph> graph = graph_of(text);
  DiagnosticSink sink;
  auto bytes = encode_tflite(*graph, options, sink);
  EXPECT_TRUE(bytes.ok()) << (bytes.ok() ? "" : format_diagnostic(bytes.error().diagnostic()));
  if (!bytes.ok()) return File(Blob());
  File file(std::move(*bytes));
  // Whoever reads the file again need not copy weights to align them.
  for (const auto* buffer : *file.model().buffers())
    if (buffer->data() != nullptr) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()->data()) % 16, 0U);
    }
  return file;
}

TEST(TfliteWriter, InterfaceSignatureAndProvenance) {
  TfliteWriteOptions options;
  options.provenance = {{"source_sha256", "ab\"c"}, {"compiler", "x"}};
  const File file = write(R"(graph @net(%image: f32[1,4,4,2]) -> (probabilities = %y) {
    %y = sigmoid(%image)
  })",
                          options);
  EXPECT_EQ(file.model().version(), 3u);
  EXPECT_EQ(file.graph().name()->str(), "net");
  const auto& signature = *file.model().signature_defs()->Get(0);
  EXPECT_EQ(signature.signature_key()->str(), "serving_default");
  EXPECT_EQ(signature.inputs()->Get(0)->name()->str(), "image");
  EXPECT_EQ(signature.inputs()->Get(0)->tensor_index(),
            static_cast<uint32_t>(file.graph().inputs()->Get(0)));
  EXPECT_EQ(signature.outputs()->Get(0)->name()->str(), "probabilities");
  EXPECT_EQ(signature.outputs()->Get(0)->tensor_index(),
            static_cast<uint32_t>(file.graph().outputs()->Get(0)));
  const auto& entry = *file.model().metadata()->Get(0);
  EXPECT_EQ(entry.name()->str(), kTfliteProvenance);
  const auto* content = file.model().buffers()->Get(entry.buffer())->data();
  EXPECT_EQ(std::string(content->begin(), content->end()),
            R"({"compiler":"x","source_sha256":"ab\"c"})");
  EXPECT_EQ(file.model().buffers()->Get(0)->data(), nullptr);  // the empty one
}

TEST(TfliteWriter, BuffersAreSharedAndAligned) {
  const File file = write(R"(graph @g(%x: f32[1,3]) -> (y = %y) {
    %a = const f32[1,3] dense[1,2,3]
    %b = const f32[3] dense[1,2,3]
    %c = const f32[3] dense[4,5,6]
    %p = add(%x, %a) %q = add(%p, %b) %y = add(%q, %c)
  })");
  EXPECT_EQ(file.input(0, 1).buffer(), file.input(1, 1).buffer());
  EXPECT_NE(file.input(0, 1).buffer(), file.input(2, 1).buffer());
  const auto* begin = reinterpret_cast<const uint8_t*>(file.bytes().bytes().data());
  for (const auto* buffer : *file.model().buffers()) {
    if (buffer->data() == nullptr) continue;
    EXPECT_EQ((buffer->data()->data() - begin) % 16, 0);
  }
}

TEST(TfliteWriter, ConvolutionsAndTheirPadding) {
  const File same = write(R"(graph @g(%x: f32[1,8,8,3]) -> (y = %y) {
    %w = const f32[4,3,3,3] splat(1) %b = const f32[4] splat(0)
    %a = conv(%x, %w, %b) {layout=nhwc, pads=[1,1,1,1]}
    %y = relu(%a)
  })");
  ASSERT_EQ(same.names(), "CONV_2D");
  const auto* conv = same.op(0).builtin_options_as_Conv2DOptions();
  EXPECT_EQ(conv->padding(), Padding::SAME);
  EXPECT_EQ(conv->fused_activation_function(), ActivationFunctionType::RELU);
  EXPECT_EQ(same.code(0).version(), 1);
  // Stride 2 over an even size: SAME pads at the end, [1,1] at the begin is something else.
  const auto graph = graph_of(R"(graph @g(%x: f32[1,8,8,3]) -> (y = %y) {
    %w = const f32[4,3,3,3] splat(1)
    %y = conv(%x, %w) {layout=nhwc, pads=[1,1,1,1], strides=[2,2]}
  })");
  DiagnosticSink sink;
  EXPECT_FALSE(encode_tflite(*graph, {}, sink).ok());
  const File end = write(R"(graph @g(%x: f32[1,8,8,3]) -> (y = %y) {
    %w = const f32[4,3,3,3] splat(1)
    %y = conv(%x, %w) {layout=nhwc, pads=[0,0,1,1], strides=[2,2]}
  })");
  EXPECT_EQ(end.op(0).builtin_options_as_Conv2DOptions()->padding(), Padding::SAME);
  const File valid = write(R"(graph @g(%x: f32[1,8,8,4]) -> (y = %y) {
    %w = const f32[4,3,3,2] splat(1)
    %y = conv(%x, %w) {layout=nhwc, groups=2, dilations=[2,1]}
  })");
  conv = valid.op(0).builtin_options_as_Conv2DOptions();
  EXPECT_EQ(conv->padding(), Padding::VALID);
  EXPECT_EQ(conv->dilation_h_factor(), 2);
  EXPECT_EQ(conv->dilation_w_factor(), 1);
  EXPECT_EQ(valid.code(0).version(), 6) << "groups";
}

TEST(TfliteWriter, DepthwiseFiltersAreTurned) {
  const File file = write(R"(graph @g(%x: f32[1,5,5,2]) -> (y = %y) {
    %w = const f32[4,1,2,1] dense[1,2, 3,4, 5,6, 7,8]
    %a = conv(%x, %w) {layout=nhwc, groups=2, dilations=[1,2]}
    %low = const f32[] splat(0) %high = const f32[] splat(6)
    %y = clip(%a, %low, %high)
  })");
  ASSERT_EQ(file.names(), "DEPTHWISE_CONV_2D");
  const auto* options = file.op(0).builtin_options_as_DepthwiseConv2DOptions();
  EXPECT_EQ(options->depth_multiplier(), 2);
  EXPECT_EQ(options->fused_activation_function(), ActivationFunctionType::RELU6);
  EXPECT_EQ(file.code(0).version(), 2) << "dilation";
  EXPECT_EQ(shape_of(file.input(0, 1)), (std::vector<int>{1, 1, 2, 4}));
  EXPECT_EQ(file.data<float>(file.input(0, 1)), (std::vector<float>{1, 3, 5, 7, 2, 4, 6, 8}));
}

TEST(TfliteWriter, QuantisedConvolutionKeepsParameters) {
  const File file = write(R"(graph @g(%x: i8[1,4,4,2] q(0.5:3)) -> (y = %y) {
    %w = const i8[2,1,1,2] q(axis=0,0.25:0,0.125:0) dense[1,2,3,4]
    %b = const i32[2] q(axis=0,0.125:0,0.0625:0) dense[5,6]
    %y = conv(%x, %w, %b) {layout=nhwc, activation=relu6} : i8[1,4,4,2] q(0.1:-128)
  })");
  ASSERT_EQ(file.names(), "CONV_2D");
  EXPECT_EQ(file.code(0).version(), 3);
  const auto* quantization = file.input(0, 1).quantization();
  EXPECT_EQ(quantization->quantized_dimension(), 0);
  ASSERT_EQ(quantization->scale()->size(), 2u);
  EXPECT_EQ(quantization->scale()->Get(1), 0.125f);
  EXPECT_EQ(file.output(0).quantization()->zero_point()->Get(0), -128);
  EXPECT_EQ(file.op(0).builtin_options_as_Conv2DOptions()->fused_activation_function(),
            ActivationFunctionType::RELU6);
}

TEST(TfliteWriter, ClipsByTheirBounds) {
  const auto names = [](const std::string& low, const std::string& high) {
    return write("graph @g(%x: f32[4]) -> (y = %y) { %low = const f32[] splat(" + low +
                 ") %high = const f32[] splat(" + high + ") %y = clip(%x, %low, %high) }")
        .names();
  };
  EXPECT_EQ(names("0", "inf"), "RELU");
  EXPECT_EQ(names("0", "6"), "RELU6");
  EXPECT_EQ(names("-1", "1"), "RELU_N1_TO_1");
  EXPECT_EQ(names("0", "1"), "RELU_0_TO_1");
  EXPECT_EQ(names("0", "5"), "MAXIMUM MINIMUM");
  EXPECT_EQ(names("0", "-inf"), "MAXIMUM MINIMUM");  // no relu: everything becomes -inf
  EXPECT_EQ(names("-inf", "6"), "MINIMUM");
  EXPECT_EQ(names("2", "inf"), "MAXIMUM");
}

TEST(TfliteWriter, ActivationsStayWhenSomethingElseReadsTheSum) {
  const File file = write(R"(graph @g(%x: f32[1,4]) -> (y = %y, z = %a) {
    %a = add(%x, %x)
    %y = relu(%a)
  })");
  EXPECT_EQ(file.names(), "ADD RELU");
  const File quantised = write(R"(graph @g(%x: i8[1,4] q(0.5:0)) -> (y = %y) {
    %a = add(%x, %x) : i8[1,4] q(1:0)
    %y = relu(%a) : i8[1,4] q(0.5:-128)
  })");
  EXPECT_EQ(quantised.names(), "ADD RELU") << "another scale behind the activation";
  EXPECT_EQ(quantised.code(0).version(), 2);
}

TEST(TfliteWriter, LinearLayers) {
  const File file = write(R"(graph @g(%x: f32[2,5,3]) -> (y = %y) {
    %w = const f32[4,3] splat(1) %b = const f32[4] splat(1)
    %y = matmul(%x, %w, %b) {transpose_b=true}
  })");
  ASSERT_EQ(file.names(), "FULLY_CONNECTED");
  EXPECT_TRUE(file.op(0).builtin_options_as_FullyConnectedOptions()->keep_num_dims());
  EXPECT_EQ(file.code(0).version(), 5);
  const File product = write(R"(graph @g(%a: f32[2,5,3], %b: f32[2,4,3]) -> (y = %y) {
    %y = matmul(%a, %b) {transpose_b=true}
  })");
  ASSERT_EQ(product.names(), "BATCH_MATMUL");
  EXPECT_TRUE(product.op(0).builtin_options_as_BatchMatMulOptions()->adj_y());
}

TEST(TfliteWriter, MovementOperandsAreInt32) {
  const File file = write(R"(graph @g(%x: f32[2,6,4]) -> (y = %y) {
    %t = transpose(%x) {perm=[0,2,1]}
    %s = const i64[1] dense[1] %e = const i64[1] dense[-1] %a = const i64[1] dense[2] %k = const i64[1] dense[2]
    %p = slice(%t, %s, %e, %a)
    %q = slice(%p, %s, %e, %s, %k)
    %pads = const i64[6] dense[0,1,0,0,0,2]
    %r = pad(%q, %pads)
    %y = reduce_mean(%r, %s) {keep_dims=false}
  })");
  ASSERT_EQ(file.names(), "TRANSPOSE SLICE STRIDED_SLICE PAD MEAN");
  EXPECT_EQ(file.input(0, 1).type(), tflite::TensorType::INT32);
  EXPECT_EQ(file.data<int32_t>(file.input(1, 1)), (std::vector<int32_t>{0, 0, 1}));
  EXPECT_EQ(file.data<int32_t>(file.input(1, 2)), (std::vector<int32_t>{2, 4, 4}));
  EXPECT_EQ(file.data<int32_t>(file.input(2, 3)), (std::vector<int32_t>{1, 2, 1}));
  EXPECT_EQ(file.data<int32_t>(file.input(3, 1)), (std::vector<int32_t>{0, 0, 1, 0, 0, 2}));
  EXPECT_FALSE(file.op(4).builtin_options_as_ReducerOptions()->keep_dims());
}

TEST(TfliteWriter, HalfPrecisionWeightsAreDequantised) {
  const File file = write(R"(graph @g(%x: f32[1,2]) -> (y = %y) {
    %w = const f16[1,2] dense[1,2]
    %v = cast(%w) {to=f32}
    %y = mul(%x, %v)
  })");
  ASSERT_EQ(file.names(), "DEQUANTIZE MUL");
  EXPECT_EQ(file.code(0).version(), 3);
  EXPECT_EQ(file.input(0, 0).type(), tflite::TensorType::FLOAT16);
}

TEST(TfliteWriter, StoredWeightsAreTurnedAndStayWeights) {
  const File depthwise = write(R"(graph @g(%x: f32[1,5,5,2]) -> (y = %y) {
    %w = const f16[2,1,2,1] dense[1,2, 3,4]
    %v = cast(%w) {to=f32}
    %y = conv(%x, %v) {layout=nhwc, groups=2}
  })");
  ASSERT_EQ(depthwise.names(), "DEQUANTIZE DEPTHWISE_CONV_2D");
  EXPECT_EQ(shape_of(depthwise.input(0, 0)), (std::vector<int>{1, 1, 2, 2}));
  const File linear = write(R"(graph @g(%x: f32[2,2]) -> (y = %y) {
    %w = const f16[3,2] splat(1) %b = const f32[3] splat(1)
    %v = cast(%w) {to=f32}
    %y = matmul(%x, %v, %b) {transpose_b=true}
  })");
  EXPECT_EQ(linear.names(), "DEQUANTIZE FULLY_CONNECTED");
}

TEST(TfliteWriter, FourBitWeightsArePacked) {
  const File file = write(R"(graph @g(%x: i8[1,3] q(1:0)) -> (y = %y) {
    %w = const i4[1,3] q(1:0) dense[1,-1,2]
    %y = gemm(%x, %w) {transpose_b=true} : i8[1,1] q(1:0)
  })");
  EXPECT_EQ(file.data<uint8_t>(file.input(0, 1)), (std::vector<uint8_t>{0xf1, 0x02}));
  EXPECT_EQ(file.code(0).version(), 10);
}

TEST(TfliteWriter, OpenSizesGoIntoTheSignature) {
  const File file = write(R"(graph @g(%x: f32[batch,4]) -> (y = %y) { %y = relu(%x) })");
  const auto& tensor = *file.graph().tensors()->Get(0);
  EXPECT_EQ(shape_of(tensor), (std::vector<int>{1, 4}));
  EXPECT_EQ(tensor.shape_signature()->Get(0), -1);
}

TEST(TfliteWriter, OutputsThatAreInputsAreCopied) {
  const File file =
      write(R"(graph @g(%x: f32[1,4]) -> (y = %x, z = %a, w = %a) { %a = relu(%x) })");
  EXPECT_EQ(file.names(), "RELU RESHAPE RESHAPE");
  EXPECT_EQ(file.graph().outputs()->size(), 3u);
}

TEST(TfliteWriter, EverythingThatHasNoOperatorIsReportedInOneRun) {
  const auto graph = graph_of(R"(graph @g(%x: f32[1,4,4], %i: i64[1,4]) -> (y = %y, z = %z) {
    %y = det(%x) loc("head/Det" : "Det")
    %z = bitwise_not(%i) loc("tail" : "BitwiseNot")
  })");
  DiagnosticSink sink;
  const auto bytes = encode_tflite(*graph, {}, sink);
  ASSERT_FALSE(bytes.ok());
  ASSERT_EQ(sink.error_count(), 2u);
  EXPECT_EQ(sink.diagnostics()[0].code, Code::NotOnTarget);
  EXPECT_EQ(sink.diagnostics()[0].node, "head/Det");
  EXPECT_FALSE(sink.diagnostics()[0].hint.empty());
}

TEST(TfliteWriter, FilesBeyondTheLimitAreRefused) {
  const auto graph = graph_of(R"(graph @g(%x: f32[1000]) -> (y = %y) {
    %c = const f32[1000] splat(1.5)
    %y = add(%x, %c)
  })");
  TfliteWriteOptions options;
  options.size_limit = 5000;
  DiagnosticSink sink;
  const auto bytes = encode_tflite(*graph, options, sink);
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code(), Code::ExportFailed);
}

TEST(TfliteWriter, SameGraphSameBytes) {
  constexpr std::string_view kText = R"(graph @g(%x: f32[1,8,8,3]) -> (y = %y) {
    %w = const f32[4,3,3,3] splat(1) %b = const f32[4] splat(0)
    %a = conv(%x, %w, %b) {layout=nhwc, pads=[1,1,1,1]}
    %y = softmax(%a) {axis=3}
  })";
  EXPECT_EQ(write(kText).bytes(), write(kText).bytes());
}

// --- several graphs, state, operators that do two steps ------------------------------------------

TEST(TfliteWriter, BranchesAreGraphsOfTheirOwn) {
  const File file = write(R"(graph @g(%c: bool[], %x: f32[4]) -> (y = %y) {
    %y = if(%c, %x)
      body graph @then(%a: f32[4]) -> (r = %r) { %r = abs(%a) }
      body graph @else(%a: f32[4]) -> (r = %r) { %r = neg(%a) }
  })");
  ASSERT_EQ(file.names(), "IF");
  ASSERT_EQ(file.model().subgraphs()->size(), 3u);
  const auto* options = file.op(0).builtin_options_as_IfOptions();
  EXPECT_EQ(file.model().subgraphs()->Get(1)->name()->str(), "then");
  EXPECT_EQ(options->then_subgraph_index(), 1);
  EXPECT_EQ(options->else_subgraph_index(), 2);
}

TEST(TfliteWriter, LoopsCarryTheirConditionAndCount) {
  constexpr std::string_view kBody = R"(
      body graph @body(%i: i64[], %c: bool[], %a: f32[2], %b: f32[]) -> (c = %d, r = %r) {
        %r = add(%a, %b) %m = reduce_max(%r) {keep_dims=false}
        %l = const f32[] splat(9) %d = less(%m, %l)
      }
  })";
  const File open = write(R"(graph @g(%p: bool[], %x: f32[2], %k: f32[]) -> (y = %y) {
    %y = loop(_, %p, %x, %k) {num_carried=1})" +
                          std::string(kBody));
  ASSERT_EQ(open.names(), "WHILE");
  EXPECT_EQ(open.op(0).inputs()->size(), 3u);  // condition, x, k
  const File counted = write(R"(graph @g(%n: i64[], %x: f32[2], %k: f32[]) -> (y = %y) {
    %y = loop(%n, _, %x, %k) {num_carried=1})" +
                             std::string(kBody));
  EXPECT_EQ(counted.op(0).inputs()->size(), 5u);  // iteration, condition, x, k, limit
  const auto* options = counted.op(0).builtin_options_as_WhileOptions();
  const auto graph = [&](int32_t i) {
    return counted.model().subgraphs()->Get(static_cast<uint32_t>(i));
  };
  EXPECT_EQ(graph(options->cond_subgraph_index())->outputs()->size(), 1u);
  EXPECT_EQ(graph(options->body_subgraph_index())->outputs()->size(), 5u);
}

TEST(TfliteWriter, StatesAreVariables) {
  const File file = write(R"(graph @g(%x: f32[1,4]) -> (y = %z) {
    %f = const f32[6,4] splat(1) %t = const f32[6,3] splat(1) %s = const f32[1,18] splat(0)
    %y = svdf(%x, %f, %t, _, %s) {rank=1}
    %g = const f32[6,6] splat(1)
    %z = svdf(%y, %g, %t, _, %s) {rank=1}
  })");
  ASSERT_EQ(file.names(), "SVDF SVDF");
  EXPECT_TRUE(file.input(0, 4).is_variable());
  EXPECT_EQ(file.input(0, 4).buffer(), 0u);
  // The same zeros in the graph, and a state each.
  EXPECT_NE(file.op(0).inputs()->Get(4), file.op(1).inputs()->Get(4));
}

TEST(TfliteWriter, StatesOfCellsAreTheirVariables) {
  const File file = write(R"(graph @g(%x: f32[1,4]) -> (y = %y) {
    %f = const f32[6,4] splat(1) %t = const f32[6,3] splat(1) %s = const f32[1,18] splat(0)
    %r = read_state(%s) {name="cell"}
    %y, %n = svdf(%x, %f, %t, _, %r) {rank=1}
    %w = write_state(%n) {name="cell"}
  })");
  ASSERT_EQ(file.names(), "SVDF");
  EXPECT_TRUE(file.input(0, 4).is_variable());
}

TEST(TfliteWriter, OtherStatesAreVariablesWithHandles) {
  const File file = write(R"(graph @g(%x: f32[2]) -> (y = %y) {
    %s = const f32[2] dense[1,2]
    %r = read_state(%s) {name="sum"}
    %y = add(%r, %x)
    %w = write_state(%y) {name="sum"}
  })");
  EXPECT_EQ(file.names(), "CALL_ONCE VAR_HANDLE READ_VARIABLE ADD VAR_HANDLE ASSIGN_VARIABLE");
  ASSERT_EQ(file.model().subgraphs()->size(), 2u);
  EXPECT_EQ(file.model().subgraphs()->Get(1)->operators()->size(), 2u);
  EXPECT_EQ(file.op(1).builtin_options_as_VarHandleOptions()->shared_name()->str(), "sum");
}

TEST(TfliteWriter, OneOperatorForTwoSteps) {
  EXPECT_EQ(write(R"(graph @g(%a: f32[3], %b: f32[3]) -> (y = %y) {
    %ax = const i64[1] dense[1]
    %p = unsqueeze(%a, %ax) %q = unsqueeze(%b, %ax)
    %y = concat(%p, %q) {axis=1}
  })")
                .names(),
            "PACK");
  EXPECT_EQ(write(R"(graph @g(%x: f32[2,3]) -> (y = %p, z = %q) {
    %ax = const i64[1] dense[0]
    %a, %b = split(%x) {axis=0}
    %p = squeeze(%a, %ax) %q = squeeze(%b, %ax)
  })")
                .names(),
            "UNPACK");
  EXPECT_EQ(write(R"(graph @g(%a: f32[3], %b: f32[3]) -> (y = %y) {
    %e = equal(%a, %b) %y = not(%e)
  })")
                .names(),
            "NOT_EQUAL");
  const File shape = write(R"(graph @g(%x: f32[?,3]) -> (y = %y) {
    %s = shape(%x) %y = cast(%s) {to=i32}
  })");
  EXPECT_EQ(shape.names(), "SHAPE");
  EXPECT_EQ(shape.output(0).type(), tflite::TensorType::INT32);
}

TEST(TfliteWriter, PlacesThatAreComputed) {
  EXPECT_EQ(write(R"(graph @g(%x: f32[5,6], %b: i32[2], %e: i32[2]) -> (y = %y) {
    %y = slice(%x, %b, %e)
  })")
                .names(),
            "STRIDED_SLICE");
  const File some = write(R"(graph @g(%x: f32[5,6], %b: i32[1], %e: i32[1]) -> (y = %y) {
    %ax = const i64[1] dense[1]
    %y = slice(%x, %b, %e, %ax)
  })");
  EXPECT_EQ(some.names(), "GATHER GATHER STRIDED_SLICE");
  EXPECT_EQ(some.op(2).builtin_options_as_StridedSliceOptions()->begin_mask(), 1);
  EXPECT_EQ(write(R"(graph @g(%x: f32[5,6], %p: i64[4]) -> (y = %y) { %y = pad(%x, %p) })").names(),
            "CAST RESHAPE TRANSPOSE PAD");
}

TEST(TfliteWriter, ScattersAddToZeros) {
  EXPECT_EQ(write(R"(graph @g(%i: i32[2,1], %u: f32[2,3], %s: i32[2]) -> (y = %y) {
    %w = cast(%s) {to=i64} %zero = const f32[] splat(0)
    %f = fill(%w, %zero)
    %y = scatter_nd(%f, %i, %u) {reduction=add}
  })")
                .names(),
            "SCATTER_ND");
  EXPECT_EQ(write(R"(graph @g(%x: f32[4,3], %i: i32[2,1], %u: f32[2,3]) -> (y = %y) {
    %y = scatter_nd(%x, %i, %u) {reduction=add}
  })")
                .names(),
            "SCATTER_ND ADD");
}

TEST(TfliteWriter, SpectraAreComplexTensors) {
  const File magnitude = write(R"(graph @g(%x: f32[2,3,16,1]) -> (y = %y) {
    %f = dft(%x) {onesided=true}
    %last = const i64[1] splat(3) %y = reduce_l2(%f, %last) {keep_dims=false}
  })");
  EXPECT_EQ(magnitude.names(), "RESHAPE RFFT2D COMPLEX_ABS RESHAPE");
  const File open_batch = write(R"(graph @g(%x: f32[N,3,16,1]) -> (y = %y) {
    %f = dft(%x) {onesided=true}
    %last = const i64[1] splat(3) %y = reduce_l2(%f, %last) {keep_dims=false}
  })");
  EXPECT_EQ(open_batch.names(), "RESHAPE RFFT2D COMPLEX_ABS RESHAPE");
  EXPECT_EQ(magnitude.output(1).type(), tflite::TensorType::COMPLEX64);
  EXPECT_EQ(shape_of(magnitude.output(1)), (std::vector<int>{2, 3, 1, 9}));
  EXPECT_EQ(magnitude.data<int32_t>(magnitude.input(1, 1)), (std::vector<int32_t>{1, 16}));
  const File parts = write(R"(graph @g(%x: f32[8,16,1]) -> (y = %y, r = %r) {
    %f = dft(%x) {onesided=true} %a = const i64[] splat(0) %y = dft(%f, _, %a)
    %zero = const i64[] splat(0) %r = gather(%y, %zero) {axis=2}
  })");
  EXPECT_EQ(parts.names(), "RESHAPE RFFT2D REAL REAL IMAG PACK");
  EXPECT_EQ(parts.data<int32_t>(parts.input(1, 1)), (std::vector<int32_t>{8, 16}));
}

TEST(TfliteWriter, OperatorsOfTfliteMicroKeepTheirState) {
  const File file = write(R"(graph @g(%x: i16[1,4]) -> (y = %y, v = %v) {
    %s = const i16[1,4] splat(0) %n = const i32[] splat(1)
    %y, %v, %t, %m = signal_framer(%x, %s, %n) {frame_size=3, frame_step=2, prefill=true}
  })");
  ASSERT_EQ(file.size(), 1u);
  EXPECT_EQ(file.code(0).custom_code()->str(), "SignalFramer");
  EXPECT_EQ(file.op(0).inputs()->size(), 1u);
  EXPECT_EQ(file.op(0).outputs()->size(), 2u);
}

TEST(TfliteWriter, EntriesBesideTheGraphsAreKept) {
  auto graph = graph_of("graph @g(%x: f32[4]) -> (y = %y) { %y = abs(%x) }");
  graph->metadata()["tflite.metadata.TFLITE_METADATA"] = "base64:AQID";
  graph->metadata()["tflite.metadata.min_runtime_version"] = "1.5.0";
  DiagnosticSink sink;
  const File file(*encode_tflite(*graph, {}, sink));
  ASSERT_EQ(file.model().metadata()->size(), 2u);
  const auto* bytes =
      file.model().buffers()->Get(file.model().metadata()->Get(0)->buffer())->data();
  EXPECT_EQ(std::vector<uint8_t>(bytes->begin(), bytes->end()), (std::vector<uint8_t>{1, 2, 3}));
}

}  // namespace
}  // namespace ec
