#include "kusari/framework/serializers/arrays.h"

#include <memory>
#include <utility>

#include "kusari/framework/serializers/dictionary.h"

namespace kusari::serializers {

NamedArrays load_arrays(const std::string& path) {
  const std::shared_ptr<const EntrySource> source = open_entries(path);
  NamedArrays arrays;
  for (const std::string& key : source->keys()) {
    Entry entry = source->value(key);
    if (!entry.is_text) arrays.emplace(key, std::move(entry.array));
  }
  return arrays;
}

void save_arrays(const std::string& path, const NamedArrays& arrays, const SaveNpzOptions& options) {
  NpzWriter writer(path, options);
  for (const auto& [key, array] : arrays) writer.add(key, array);
  writer.commit();
}

}  // namespace kusari::serializers
