#include "kusari/tools/inspect/contents.h"

#include <algorithm>

#include <fnmatch.h>

#include "kusari/framework/serializers/hdf5.h"
#include "kusari/framework/serializers/safetensors.h"

namespace inspect {
namespace {

using namespace kusari;
using serializers::Entry;

bool matches(const std::string& key, const std::string& filter) {
  return filter.empty() || key.find(filter) != key.npos || ::fnmatch(filter.c_str(), key.c_str(), 0) == 0;
}

Item describe(const std::string& key, const Entry& entry) {
  if (entry.is_text) return {key, "text", {}, static_cast<int64_t>(entry.text.size())};
  if (!entry.array.is_defined()) return {key, "None", {}, 0};
  return {
      key, name(entry.array.dtype()), {entry.array.shape().begin(), entry.array.shape().end()}, entry.array.nbytes()};
}

/// Its header says all, whatever the dtypes.
Item describe(const serializers::SafetensorsEntry& entry) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"BOOL", "bool"},   {"U8", "uint8"},    {"I8", "int8"},       {"I32", "int32"},
      {"I64", "int64"},   {"F16", "float16"}, {"BF16", "bfloat16"}, {"F32", "float32"},
      {"F64", "float64"}, {"I16", "int16"},   {"U16", "uint16"},    {"U32", "uint32"}};
  const auto* const found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& n) { return n.first == entry.dtype; });
  const bool is_known = found != std::end(kNames);
  return {entry.key, is_known ? found->second : entry.dtype, entry.shape, static_cast<int64_t>(entry.end - entry.begin),
          is_known && entry.shape.size() <= kMaxNdim};
}

}  // namespace

Contents read_contents(const std::string& path, const std::string& filter) {
  Contents contents{serializers::open_entries(path), "npz", {}};
  if (dynamic_cast<const serializers::Hdf5Reader*>(contents.file.get()) != nullptr) contents.format = "hdf5";
  if (const auto* const file = dynamic_cast<const serializers::SafetensorsReader*>(contents.file.get())) {
    contents.format = "safetensors";
    if (file->has_checksums()) file->verify();
    for (const serializers::SafetensorsEntry& entry : file->entries()) {
      if (matches(entry.key, filter)) contents.items.push_back(describe(entry));
    }
    return contents;
  }
  for (const std::string& key : contents.file->keys()) {
    const Entry entry = contents.file->value(key);  // which checks it
    if (matches(key, filter)) contents.items.push_back(describe(key, entry));
  }
  return contents;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace inspect
