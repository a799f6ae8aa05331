// Core ML itself. This file is compiled on macOS alone; a test checks its syntax against
// declarations of what it calls. It has never been run: no Apple machine was at hand.
#import <CoreML/CoreML.h>
#import <Foundation/Foundation.h>

#include <cstring>

#include "backend/metal/device.h"
#include "ir/graph.h"
#include "support/small_float.h"

namespace ec::metal {
namespace {

std::string text_of(NSError* error) {
  return error == nil ? "no reason given" : std::string([[error localizedDescription] UTF8String]);
}

Error unavailable(const std::string& what, NSError* error) {
  return Error(Code::DeviceUnavailable, what + ": " + text_of(error))
      .hint("run the package without --target: the CPU session takes it");
}

std::optional<MLMultiArrayDataType> array_type(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return MLMultiArrayDataTypeFloat32;
    case DType::F16:
      return MLMultiArrayDataTypeFloat16;
    case DType::F64:
      return MLMultiArrayDataTypeDouble;
    case DType::I32:
      return MLMultiArrayDataTypeInt32;
    default:
      return std::nullopt;
  }
}

NSArray<NSNumber*>* numbers(const std::vector<int64_t>& sizes) {
  NSMutableArray<NSNumber*>* list = [NSMutableArray array];
  for (const int64_t size : sizes) [list addObject:[NSNumber numberWithLongLong:size]];
  return list;
}

// Elements in rows of C order: the layout of our values.
NSArray<NSNumber*>* dense_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return numbers(strides);
}

// Results may lie in memory with gaps: element by element, by their strides.
void copy_strided(const std::byte* from, std::span<const int64_t> sizes,
                  std::span<const int64_t> strides, size_t element, std::byte*& to) {
  if (sizes.empty()) {
    std::memcpy(to, from, element);
    to += element;
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i)
    copy_strided(from + static_cast<size_t>(i * strides[0]) * element, sizes.subspan(1),
                 strides.subspan(1), element, to);
}

Result<Value> value_of(MLMultiArray* array, const TensorDescription& wanted) {
  const auto type = array_type(wanted.type.dtype);
  if (!type || [array dataType] != *type)
    return Error(Code::DeviceUnavailable,
                 "Core ML gives '" + wanted.name + "' with another element type than the package");
  std::vector<int64_t> sizes, strides;
  for (NSNumber* size in [array shape]) sizes.push_back([size longLongValue]);
  for (NSNumber* stride in [array strides]) strides.push_back([stride longLongValue]);
  const size_t element = element_size(wanted.type.dtype);
  Buffer buffer = Buffer::allocate(static_cast<size_t>(count_elements(sizes)) * element);
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for '" + wanted.name + "'");
  std::byte* to = buffer.data();
  copy_strided(static_cast<const std::byte*>([array dataPointer]), sizes, strides, element, to);
  return Value(wanted.type.dtype, sizes, std::move(buffer).to_blob());
}

class CoreMlRunner : public DeviceRunner {
 public:
  CoreMlRunner(MLModel* model, std::vector<TensorDescription> inputs,
               std::vector<TensorDescription> outputs)
      : model_(model), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  Result<std::vector<Value>> run(std::span<const Value> inputs) override {
    @autoreleasepool {
      NSError* error = nil;
      NSMutableDictionary<NSString*, MLFeatureValue*>* given = [NSMutableDictionary dictionary];
      for (size_t i = 0; i < inputs.size(); ++i) {
        EC_TRY(MLMultiArray * array, array_of(inputs[i], inputs_[i].name));
        [given setObject:[MLFeatureValue featureValueWithMultiArray:array]
                  forKey:[NSString stringWithUTF8String:inputs_[i].name.c_str()]];
      }
      MLDictionaryFeatureProvider* features =
          [[MLDictionaryFeatureProvider alloc] initWithDictionary:given error:&error];
      if (features == nil) return unavailable("Core ML does not take the inputs", error);
      id<MLFeatureProvider> results = [model_ predictionFromFeatures:features error:&error];
      if (results == nil) return unavailable("Core ML could not run the package", error);
      std::vector<Value> values;
      for (const TensorDescription& output : outputs_) {
        MLFeatureValue* value = [results
            featureValueForName:[NSString stringWithUTF8String:output.name.c_str()]];
        if (value == nil || [value multiArrayValue] == nil)
          return unavailable("Core ML gives no array '" + output.name + "'", nil);
        EC_TRY(Value copy, value_of([value multiArrayValue], output));
        values.push_back(std::move(copy));
      }
      return values;
    }
  }

 private:
  // The value's own memory: Core ML reads it while the call lasts.
  static Result<MLMultiArray*> array_of(const Value& value, const std::string& name) {
    NSError* error = nil;
    void* data = const_cast<std::byte*>(value.data.bytes().data());
    MLMultiArray* array = [[MLMultiArray alloc] initWithDataPointer:data
                                                              shape:numbers(value.shape)
                                                           dataType:*array_type(value.dtype)
                                                            strides:dense_strides(value.shape)
                                                        deallocator:nil
                                                              error:&error];
    if (array == nil) return unavailable("Core ML does not take '" + name + "'", error);
    return array;
  }

  MLModel* model_;
  std::vector<TensorDescription> inputs_, outputs_;
};

Result<std::vector<TensorDescription>> described(const std::vector<Tensor*>& tensors) {
  std::vector<TensorDescription> list;
  for (const Tensor* tensor : tensors) {
    if (!array_type(tensor->dtype()))
      return Error(Code::DeviceUnavailable,
                   "'" + tensor->name() + "' has an element type that Core ML's arrays do not have");
    list.push_back({tensor->name(), tensor->type()});
  }
  return list;
}

}  // namespace

bool has_device() {
#if defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

std::vector<Fact> machine_facts() {
  return {{"core_ml", "Core ML",
           has_device() ? "found, with a Neural Engine" : "found, without a Neural Engine"}};
}

Result<OpenedDevice> open_on_device(const std::filesystem::path& package, const Graph& interface) {
  for (const Operation* op : interface.topological())
    if (op->kind() == OpKind::ReadState)
      return unavailable("packages with state are not run through Core ML by this session", nil);
  @autoreleasepool {
    EC_TRY(std::vector<TensorDescription> inputs, described(interface.inputs()));
    EC_TRY(std::vector<TensorDescription> outputs, described(interface.outputs()));
    NSError* error = nil;
    NSURL* url = [NSURL fileURLWithPath:[NSString stringWithUTF8String:package.c_str()]];
    NSURL* compiled = [MLModel compileModelAtURL:url error:&error];
    if (compiled == nil) return unavailable("Core ML could not compile the package", error);
    MLModelConfiguration* configuration = [[MLModelConfiguration alloc] init];
    [configuration setComputeUnits:MLComputeUnitsAll];
    MLModel* model = [MLModel modelWithContentsOfURL:compiled
                                       configuration:configuration
                                               error:&error];
    [[NSFileManager defaultManager] removeItemAtURL:compiled error:nil];
    if (model == nil) return unavailable("Core ML could not load the package", error);
    auto runner = std::make_unique<CoreMlRunner>(model, std::move(inputs), std::move(outputs));
    OpenedDevice opened;
    opened.session = Session::on_device(interface, std::move(runner), 1);
    opened.device = "Core ML, units as it chooses";
    return opened;
  }
}

}  // namespace ec::metal
