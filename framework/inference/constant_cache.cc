#include "kusari/framework/inference/constant_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/backend_info.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/storage.h"
#include "kusari/framework/core/tuning.h"
#include "kusari/framework/core/version.h"
#include "kusari/framework/kernels/rows.h"
#include "kusari/framework/static_graph/passes/dependencies.h"

namespace kusari::inference {

using graphs::Program;
using graphs::Step;
using graphs::View;

namespace {

constexpr char kMagic[8] = {'K', 'U', 'S', 'A', 'R', 'I', 'C', '1'};

/// A hash of bytes, at the speed of memory: against accidents, not against attacks.
class ContentHash {
 public:
  void add(const void* data, size_t size) {
    const auto* at = static_cast<const unsigned char*>(data);
    size_t left = size;
    for (; left >= sizeof(lanes_); left -= sizeof(lanes_), at += sizeof(lanes_)) mix(at);
    unsigned char last[sizeof(lanes_)] = {};
    if (left > 0) std::memcpy(last, at, left);
    mix(last);
    const uint64_t sizes[kLanes] = {size};
    mix(reinterpret_cast<const unsigned char*>(sizes));
  }
  void add(const std::string& text) { add(text.data(), text.size()); }
  template <class T>
  void add_number(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    const auto word = static_cast<int64_t>(value);
    add(&word, sizeof(word));
  }

  std::array<uint64_t, 2> digest() const {
    std::array<uint64_t, 2> result = {};
    for (size_t i = 0; i < kLanes; ++i) {
      uint64_t& word = result[i % 2];
      word = (word ^ lanes_[i] ^ (lanes_[i] >> 32)) * kFactor;
      word ^= word >> 29;
    }
    return result;
  }

 private:
  static constexpr size_t kLanes = 8;
  static constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;

  void mix(const unsigned char* at) {
    uint64_t words[kLanes];
    std::memcpy(words, at, sizeof(words));
    for (size_t i = 0; i < kLanes; ++i) lanes_[i] = std::rotl((lanes_[i] ^ words[i]) * kFactor, 31);
  }

  uint64_t lanes_[kLanes] = {1, 2, 3, 4, 5, 6, 7, 8};
};

std::string hexadecimal(const std::array<uint64_t, 2>& digest) {
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(digest[0]),
                static_cast<unsigned long long>(digest[1]));
  return text;
}

void add_view(ContentHash& hash, const View& view) {
  for (const Dims* const dims : {&view.shape, &view.strides}) {
    hash.add_number(dims->size());
    for (const int64_t size : *dims) hash.add_number(size);
  }
  hash.add_number(view.slot);
  hash.add_number(view.dtype);
  hash.add_number(view.offset);
}

/// Options of a kernel. Those with addresses in them, or gaps, are a miss in another process.
void add_options(ContentHash& hash, const Step& step, const graphs::Operand& operand) {
  if (step.id.index != kernel_id<kernels::TakeRows>().index || operand.bytes.size() != sizeof(kernels::RowLookup))
    return hash.add(operand.bytes.data(), operand.bytes.size());
  kernels::RowLookup lookup;  // its text is for errors
  std::memcpy(&lookup, operand.bytes.data(), sizeof(lookup));
  hash.add_number(lookup.has_ignored);
  hash.add_number(lookup.ignored);
}

void append_number(std::string& text, uint64_t value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// The processor's instruction set, and who computes.
std::string processor() {
  const Backend::AnyKernel found = Device().backend().find(kernel_id<kernels::BackendInfo>());
  return found == nullptr ? std::string() : reinterpret_cast<kernels::BackendInfo::Signature*>(found)();
}

/// What a file begins with: whose it is, and how many bytes each array has.
std::string header_of(const std::string& key, std::span<const size_t> sizes) {
  const std::string identity = std::string("kusari " KUSARI_VERSION " ") + key + "\n" + processor();
  std::string header(kMagic, sizeof(kMagic));
  append_number(header, identity.size());
  header += identity;
  append_number(header, sizes.size());
  for (const size_t size : sizes) append_number(header, size);
  return header;
}

/// Of the choices of all sessions.
std::string key_of_tunings() {
  ContentHash hash;
  hash.add(KUSARI_VERSION);
  hash.add(processor());
  return "tunings-" + hexadecimal(hash.digest());
}

}  // namespace

std::string ConstantCache::key_of(const Program& program, const Sources& sources) {
  ContentHash hash;
  hash.add(KUSARI_VERSION);
  hash.add(processor());
  for (const Step& step : program.steps) {
    if (step.is_code() || !step.device.is_cpu()) return {};
    hash.add(step.name);
    hash.add(step.fused);
    for (const graphs::Operand& operand : step.operands) {
      hash.add_number(operand.kind);
      add_options(hash, step, operand);
      hash.add_number(operand.views.size());
      for (const View& view : operand.views) add_view(hash, view);
    }
    bool is_known = true;
    graphs::for_each_read(step, [&](const View& view) {
      const Array& source = sources[static_cast<size_t>(view.slot)];
      if (!source.is_defined()) return;  // computed by a step before
      const graphs::ByteRange range = graphs::bytes_of(view);
      is_known = is_known && source.device().is_cpu() && range.begin >= 0 &&
                 static_cast<size_t>(range.end) <= source.storage().bytes;
      if (!is_known) return;
      hash.add(static_cast<const char*>(source.storage().data) + range.begin,
               static_cast<size_t>(range.end - range.begin));
    });
    if (!is_known) return {};
  }
  return hexadecimal(hash.digest());
}

std::string ConstantCache::path_of(const std::string& key) const {
  return (std::filesystem::path(folder_) / (key + ".constants")).string();
}

std::optional<std::vector<Array>> ConstantCache::read(const std::string& key, std::span<const size_t> sizes) const {
  const std::string path = path_of(key);
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return std::nullopt;
  const std::string expected = header_of(key, sizes);
  uint64_t end = expected.size() + sizeof(uint64_t) * 2;
  for (const size_t size : sizes) end += size;
  try {
    const InputFile file("InferenceSession", path);
    if (file.size() != end) return std::nullopt;
    std::string header(expected.size(), '\0');
    file.read(0, {reinterpret_cast<uint8_t*>(header.data()), header.size()});
    if (header != expected) return std::nullopt;
    std::array<uint64_t, 2> digest;
    file.read(header.size(), {reinterpret_cast<uint8_t*>(digest.data()), sizeof(digest)});
    uint64_t at = header.size() + sizeof(digest);
    ContentHash hash;
    std::vector<Array> arrays;
    for (const size_t size : sizes) {
      const Array& array = arrays.emplace_back(empty({static_cast<int64_t>(size)}, Dtype::uint8));
      file.read(at, {array.data<uint8_t>(), size});
      hash.add(array.data<uint8_t>(), size);
      at += size;
    }
    if (hash.digest() != digest) return std::nullopt;
    return arrays;
  } catch (const IoError&) {
    return std::nullopt;  // gone, or not ours to read: computed again
  }
}

void ConstantCache::write(const std::string& key, std::span<const Array> arrays) const {
  std::vector<size_t> sizes;
  ContentHash hash;
  for (const Array& array : arrays) {
    sizes.push_back(static_cast<size_t>(array.nbytes()));
    hash.add(array.raw_data(), sizes.back());
  }
  const std::array<uint64_t, 2> digest = hash.digest();
  try {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    AtomicFile file(path_of(key));
    file.write(header_of(key, sizes));
    file.write(digest.data(), sizeof(digest));
    for (const Array& array : arrays) file.write(array.raw_data(), static_cast<size_t>(array.nbytes()));
    file.commit(false);
  } catch (const IoError& error) {
    log::warn(std::string("InferenceSession: constants are not cached: ") + error.what());
  }
}

void ConstantCache::restore_tunings() const {
  const std::string key = key_of_tunings();
  std::error_code failed;
  const uintmax_t bytes = std::filesystem::file_size(path_of(key), failed);
  const size_t none[] = {0};
  const size_t before = header_of(key, none).size() + sizeof(uint64_t) * 2;
  if (failed || bytes <= before) return;
  const size_t sizes[] = {static_cast<size_t>(bytes) - before};
  if (const auto found = read(key, sizes)) {
    tuning::restore(std::string(static_cast<const char*>((*found)[0].raw_data()), sizes[0]));
  }
}

void ConstantCache::keep_tunings() const {
  const std::string choices = tuning::choices();
  if (choices.empty()) return;
  const Array bytes = from_host(choices.data(), {static_cast<int64_t>(choices.size())}, Dtype::uint8);
  write(key_of_tunings(), {&bytes, 1});
}

}  // namespace kusari::inference
