#include "kusari/framework/datasets/image/encoded_image_dataset.h"

#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/datasets/image/file_bytes.h"

namespace kusari::datasets {

struct EncodedImageDataset::Broken {
  ForkSafeMutex mutex;
  std::set<int64_t> indices;

  bool contains(int64_t i) {
    const std::lock_guard lock(mutex);
    return indices.contains(i);
  }
  /// False when it was there.
  bool add(int64_t i) {
    const std::lock_guard lock(mutex);
    return indices.insert(i).second;
  }
  int64_t count() {
    const std::lock_guard lock(mutex);
    return static_cast<int64_t>(indices.size());
  }
};

EncodedImageDataset::EncodedImageDataset(int64_t size, const Form& form, Array labels)
    : size_{size}, form_{form}, labels_{std::move(labels)}, broken_{std::make_shared<Broken>()} {}
EncodedImageDataset::~EncodedImageDataset() = default;

int64_t EncodedImageDataset::broken() const { return broken_->count(); }

/// random: not null where a random part is taken.
Array EncodedImageDataset::decode(int64_t i, ExampleRandom* random) const {
  std::vector<uint8_t>& buffer = file_bytes();
  const auto bytes = load(i, buffer);
  if (random == nullptr) return decode_image(bytes, form_.decode, name(i)).astype(form_.dtype);
  DecodeOptions options = form_.decode;
  options.window = [&](const transforms::Size& size) { return form_.crop->window(size, *random); };
  const transforms::Resize resize{form_.crop->size, form_.crop->interpolation};
  return resize(decode_image(bytes, options, name(i))).astype(form_.dtype);
}

Example EncodedImageDataset::get(int64_t index) const {
  check_index("EncodedImageDataset::get", index, size_);
  std::optional<ExampleRandom> random;
  if (form_.crop) random = ExampleRandomScope::stream(index);
  for (int64_t tried = 0; tried < size_; ++tried) {
    const int64_t i = (index + tried) % size_;
    if (form_.skip_broken && broken_->contains(i)) continue;
    try {
      Example example;
      // All that are tried see the same numbers: which are known to be broken differs between workers.
      std::optional<ExampleRandom> numbers = random;
      example.emplace_back(decode(i, numbers ? &*numbers : nullptr));
      if (labels_.is_defined()) example.emplace_back(labels_.at(i));
      return example;
    } catch (const IoError& error) {
      if (!form_.skip_broken) throw;
      if (broken_->add(i)) log::warn(std::string(error.what()) + "; the next file takes its place");
    }
  }
  throw IoError("EncodedImageDataset::get: none of the " + std::to_string(size_) + " files can be read");
}

}  // namespace kusari::datasets
