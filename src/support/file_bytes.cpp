#include "support/file_bytes.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "support/deferred_bytes.h"

namespace ec {
namespace {

// Shorter weights are read with what stands around them.
constexpr size_t kShort = size_t{16} << 10;

}  // namespace

struct FileBytes::State {
  explicit State(FileImage opened) : image(std::move(opened)), left(image.file().size()) {}

  Result<Blob> range(size_t offset, size_t length) {
    const std::lock_guard lock(mutex);
    auto blob = image.range(offset, length);
    if (!blob.ok() && !fault) fault = blob.error().diagnostic();
    return blob;
  }
  // Null where ranges overlap too much.
  std::shared_ptr<const Range> source(const std::shared_ptr<State>& self, size_t offset,
                                      size_t length);
  Status read(size_t offset, std::span<std::byte> out) {
    Status status = image.file().read(offset, out);
    if (!status.ok()) {
      const std::lock_guard lock(mutex);
      if (!fault) fault = status.error().diagnostic();
    }
    return status;
  }

  std::mutex mutex;  // of the image and the fault
  FileImage image;
  std::optional<Diagnostic> fault;  // the first
  std::map<std::pair<size_t, size_t>, std::weak_ptr<const Range>> ranges;
  // Bytes that may still be deferred: ranges that overlap take no more memory than the file.
  size_t left;
};

class FileBytes::Range final : public ByteSource {
 public:
  Range(std::shared_ptr<State> state, size_t begin) : state_(std::move(state)), begin_(begin) {}
  Status read(size_t offset, std::span<std::byte> out) const override {
    return state_->read(begin_ + offset, out);
  }

 private:
  std::shared_ptr<State> state_;
  size_t begin_;
};

// One source for every range, so that those who share bytes are told.
std::shared_ptr<const FileBytes::Range> FileBytes::State::source(const std::shared_ptr<State>& self,
                                                                 size_t offset, size_t length) {
  const std::lock_guard lock(mutex);
  std::weak_ptr<const Range>& known = ranges[{offset, length}];
  std::shared_ptr<const Range> source = known.lock();
  if (source != nullptr || length > left) return source;
  left -= length;
  source = std::make_shared<Range>(self, offset);
  known = source;
  return source;
}

FileBytes::FileBytes(Blob whole) : whole_(std::move(whole)), size_(whole_.size()) {}

Result<FileBytes> FileBytes::open(InputFile file) {
  EC_TRY(FileImage image, FileImage::open(std::move(file)));
  FileBytes bytes;
  bytes.state_ = std::make_shared<State>(std::move(image));
  bytes.size_ = bytes.state_->image.file().size();
  // No byte is read for this; it tells where the image is.
  EC_TRY(bytes.whole_, bytes.state_->image.range(0, 0));
  return bytes;
}

std::span<const std::byte> FileBytes::span() const {
  return {whole_.bytes().data() + base_, size_};
}

Result<Blob> FileBytes::range(size_t offset, size_t length) const {
  if (state_ == nullptr) return whole_.slice(base_ + offset, length);
  return state_->range(base_ + offset, length);
}

Result<Blob> FileBytes::later(size_t offset, size_t length) const {
  if (state_ == nullptr || length < kShort) return range(offset, length);
  if (auto source = state_->source(state_, base_ + offset, length))
    if (Blob blob = deferred_blob(length, std::move(source)); !blob.empty()) return blob;
  return range(offset, length);
}

Status FileBytes::read(size_t offset, std::span<std::byte> out) const {
  if (state_ != nullptr) return state_->read(base_ + offset, out);
  const auto from = span().subspan(offset, out.size());
  std::copy(from.begin(), from.end(), out.begin());
  return {};
}

FileBytes FileBytes::part(size_t offset, size_t length) const {
  FileBytes inner = *this;
  inner.base_ += offset;
  inner.size_ = length;
  return inner;
}

const InputFile* FileBytes::file() const {
  return state_ == nullptr ? nullptr : &state_->image.file();
}

Status FileBytes::fault() const {
  if (state_ == nullptr) return {};
  const std::lock_guard lock(state_->mutex);
  if (state_->fault) return Error(*state_->fault);
  return {};
}

}  // namespace ec
