#include "quantize/calibration/channels_last.h"

#include <cstring>

namespace ec::quantize {
namespace {

Result<Value> channels_last(const Value& value) {
  if (value.shape.size() < 3) return value;
  const size_t size = element_size(value.dtype);
  const auto batch = static_cast<size_t>(value.shape[0]);
  const auto channels = static_cast<size_t>(value.shape[1]);
  std::vector<int64_t> shape = value.shape;
  shape.erase(shape.begin() + 1);
  shape.push_back(value.shape[1]);
  Buffer buffer = Buffer::allocate(value.data.size());
  if (!buffer.ok()) return Error(Code::OutOfMemory, "no memory for a calibration sample");
  const size_t image = batch > 0 ? value.data.size() / batch : 0;
  const size_t area = channels > 0 ? image / channels / size : 0;
  const std::byte* from = value.data.bytes().data();
  for (size_t n = 0; n < batch; ++n)
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = 0; i < area; ++i)
        std::memcpy(buffer.data() + n * image + (i * channels + c) * size,
                    from + n * image + (c * area + i) * size, size);
  return Value(value.dtype, std::move(shape), std::move(buffer).to_blob());
}

class ChannelsLastSource final : public SampleSource {
 public:
  ChannelsLastSource(SampleSource& source, std::vector<bool> transposed)
      : source_(source), transposed_(std::move(transposed)) {}
  size_t size() const override { return source_.size(); }
  std::string name(size_t index) const override { return source_.name(index); }
  bool holds_images() const override { return source_.holds_images(); }
  Result<std::vector<Value>> read(size_t index) override {
    EC_TRY(std::vector<Value> values, source_.read(index));
    for (size_t i = 0; i < values.size(); ++i)
      if (transposed_[i]) {
        EC_TRY(values[i], channels_last(values[i]));
      }
    return values;
  }

 private:
  SampleSource& source_;
  std::vector<bool> transposed_;
};

}  // namespace

std::unique_ptr<SampleSource> channels_last_samples(SampleSource& source,
                                                    std::vector<bool> transposed) {
  return std::make_unique<ChannelsLastSource>(source, std::move(transposed));
}

}  // namespace ec::quantize
