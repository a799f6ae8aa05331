#include "formats/edgetpu/package.h"

#include <algorithm>

#include "formats/edgetpu/executable.h"
#include "formats/tflite/flex_map.h"
#include "support/strings.h"

namespace ec::edgetpu {
namespace {

constexpr flatbuffers::uoffset_t kMaxDepth = 16;
constexpr size_t kMaxExecutables = 64;  // three kinds exist; each occurs once per chip
constexpr size_t kMaxLayers = 10'000;
constexpr size_t kMaxName = 1000;

Error corrupt(std::string message) {
  return Error(Code::CorruptFile, std::move(message))
      .hint("the Edge TPU package is damaged: compile or copy the model again");
}

flatbuffers::Verifier verifier_of(const Blob& bytes) {
  return {
      reinterpret_cast<const uint8_t*>(bytes.bytes().data()), bytes.size(), kMaxDepth,
      static_cast<flatbuffers::uoffset_t>(std::min<size_t>(1'000'000'000, 10'000 + bytes.size()))};
}

std::string text_of(const flatbuffers::String* text) {
  return text != nullptr ? std::string(text->string_view().substr(0, kMaxName)) : std::string();
}

template <class T>
size_t size_of(const flatbuffers::Vector<T>* list) {
  return list != nullptr ? list->size() : 0;
}

std::string type_name(ExecutableType type) {
  switch (type) {
    case ExecutableType::STAND_ALONE:
      return "stand-alone";
    case ExecutableType::PARAMETER_CACHING:
      return "parameter-caching";
    case ExecutableType::EXECUTION_ONLY:
      return "execution-only";
  }
  return "type " + std::to_string(static_cast<int>(type));
}

std::string type_name(DataType type) {
  switch (type) {
    case DataType::FIXED_POINT8:
      return "uint8";
    case DataType::FIXED_POINT16:
      return "uint16";
    case DataType::SIGNED_FIXED_POINT32:
      return "int32";
    case DataType::BFLOAT:
      return "bfloat16";
    case DataType::HALF:
      return "float16";
    case DataType::SINGLE:
      return "float32";
    case DataType::SIGNED_FIXED_POINT8:
      return "int8";
    case DataType::SIGNED_FIXED_POINT16:
      return "int16";
  }
  return "type " + std::to_string(static_cast<int>(type));
}

std::vector<LayerInfo> layers_of(const flatbuffers::Vector<flatbuffers::Offset<Layer>>* layers) {
  std::vector<LayerInfo> list;
  for (uint32_t i = 0; i < std::min(size_of(layers), kMaxLayers); ++i) {
    const Layer& layer = *layers->Get(i);
    LayerInfo info;
    info.name = text_of(layer.name());
    info.size_bytes = layer.size_bytes();
    info.y = layer.y_dim();
    info.x = layer.x_dim();
    info.z = layer.z_dim();
    if (layer.numerics() != nullptr) {
      info.zero_point = layer.numerics()->zero_point();
      info.scale = layer.numerics()->dequantization_factor();
    }
    info.data_type = type_name(layer.data_type());
    info.executions = layer.execution_count_per_inference();
    list.push_back(std::move(info));
  }
  return list;
}

Result<ExecutableInfo> read_executable(const Blob& bytes) {
  const Blob aligned = bytes.aligned();
  flatbuffers::Verifier verifier = verifier_of(aligned);
  // Nested executables carry no identifier.
  if (!verifier.VerifyBuffer<Executable>(nullptr))
    return corrupt("an executable of the package is not sound");
  const auto* source = flatbuffers::GetRoot<Executable>(aligned.bytes().data());
  ExecutableInfo info;
  info.type = type_name(source->type());
  info.caches_parameters = source->type() == ExecutableType::PARAMETER_CACHING;
  info.name = text_of(source->name());
  info.chip = text_of(source->chip());
  info.version = source->version();
  info.batch_size = source->batch_size();
  info.parameter_bytes = static_cast<int64_t>(size_of(source->parameters()));
  info.scratch_bytes = source->scratch_size_bytes();
  info.bitstreams = static_cast<int64_t>(size_of(source->instruction_bitstreams()));
  for (uint32_t i = 0; i < size_of(source->instruction_bitstreams()); ++i)
    info.instruction_bytes +=
        static_cast<int64_t>(size_of(source->instruction_bitstreams()->Get(i)->bitstream()));
  if (source->dma_hints() != nullptr)
    info.dma_hints = static_cast<int64_t>(size_of(source->dma_hints()->hints()));
  info.narrow_memory_bytes_per_tile = source->used_narrow_memory_bytes_per_tile();
  info.estimated_cycles =
      std::max<int64_t>(source->estimated_cycles(), source->estimated_cycles_64bit());
  info.caching_token = source->parameter_caching_token();
  info.inputs = layers_of(source->input_layers());
  info.outputs = layers_of(source->output_layers());
  return info;
}

template <class Bytes>
Blob slice_of(const Blob& whole, const Bytes& part) {
  const auto* begin = reinterpret_cast<const std::byte*>(part.data());
  return whole.slice(static_cast<size_t>(begin - whole.bytes().data()), part.size());
}

Result<PackageInfo> read_package(const Blob& bytes) {
  const Blob aligned = bytes.aligned();
  flatbuffers::Verifier verifier = verifier_of(aligned);
  if (!VerifyPackageBuffer(verifier))
    return corrupt("the package carries no DWN1 identifier or is not sound");
  const Package& source = *GetPackage(aligned.bytes().data());
  PackageInfo info;
  info.bytes = static_cast<int64_t>(bytes.size());
  info.min_runtime_version = source.min_runtime_version();
  info.compiler_version = text_of(source.compiler_version());
  info.model_identifier = text_of(source.model_identifier());
  info.virtual_chip_id = source.virtual_chip_id();
  info.keypair_version = source.keypair_version();
  info.signature_bytes = static_cast<int64_t>(size_of(source.signature()));
  if (size_of(source.serialized_multi_executable()) == 0)
    return corrupt("the package has no executables");
  const Blob multi = slice_of(aligned, *source.serialized_multi_executable()).aligned();
  flatbuffers::Verifier multi_verifier = verifier_of(multi);
  if (!multi_verifier.VerifyBuffer<MultiExecutable>(nullptr))
    return corrupt("the list of executables is not sound");
  const auto* list = flatbuffers::GetRoot<MultiExecutable>(multi.bytes().data());
  const size_t count = size_of(list->serialized_executables());
  if (count == 0 || count > kMaxExecutables)
    return corrupt("the package has " + std::to_string(count) + " executables");
  for (uint32_t i = 0; i < count; ++i) {
    EC_TRY(ExecutableInfo executable,
           read_executable(slice_of(multi, *list->serialized_executables()->Get(i))));
    info.executables.push_back(std::move(executable));
  }
  return info;
}

int64_t sum(const CustomOpInfo& op, bool cached) {
  int64_t total = 0;
  for (const PackageInfo& package : op.packages)
    for (const ExecutableInfo& executable : package.executables)
      if (executable.caches_parameters == cached) total += executable.parameter_bytes;
  return total;
}

}  // namespace

int64_t CustomOpInfo::cached_bytes() const { return sum(*this, true); }
int64_t CustomOpInfo::streamed_bytes() const { return sum(*this, false); }
int64_t CustomOpInfo::instruction_bytes() const {
  int64_t total = 0;
  for (const PackageInfo& package : packages)
    for (const ExecutableInfo& executable : package.executables)
      total += executable.instruction_bytes;
  return total;
}

// Keys: 1 version, 4 the package, 5 execution preference, 6 one chip number per executable.
Result<CustomOpInfo> read_custom_op(const Blob& options) {
  Result<tflite::FlexMap> opened = tflite::FlexMap::open(options);
  if (!opened.ok()) return corrupt("the options of the Edge TPU operator are no sound FlexBuffer");
  const tflite::FlexMap& map = *opened;
  CustomOpInfo info;
  info.version = map.integer("1").value_or(0);
  info.execution_preference = map.integer("5").value_or(0);
  info.chip_ids = map.integers("6").value_or(std::vector<int64_t>{});
  const std::optional<Blob> package = map.bytes("4");
  if (!package) return corrupt("the Edge TPU operator carries no package");
  EC_TRY(PackageInfo first, read_package(*package));
  info.packages.push_back(std::move(first));
  return info;
}

}  // namespace ec::edgetpu
