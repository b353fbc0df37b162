#pragma once

#include <optional>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/core/summary.h"

namespace kusari::training {

/// A number that may be absent, kept as None in a file.
inline void serialize_optional(Serializer& serializer, const std::string& name, std::optional<double>& value) {
  Array array;
  if (serializer.is_writer() && value) array = full({}, *value, Dtype::float64);
  serializer(name, array);
  if (serializer.is_writer()) return;
  if (array.is_defined() && array.size() != 1) {
    return serializer.mismatch(name, "has shape " + to_string(array.shape()) + " but the object wants a number");
  }
  value = array.is_defined() ? std::optional(array.item<double>()) : std::nullopt;
}

/// The entries below "summary", of one value alone. A reader throws ValueError for others.
inline void serialize_summary_of(Serializer& serializer, DictSummary& summary, const std::string& key) {
  const auto below = serializer.child("summary");
  summary.serialize(*below);
  if (serializer.is_writer()) return;
  for (const auto& [name, mean] : summary.compute_mean()) {
    if (name != key) throw ValueError(below->place("_names") + "has '" + name + "': it may have '" + key + "' alone");
  }
}

}  // namespace kusari::training
