#pragma once

#include <optional>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/serializer.h"

namespace kusari::training {

/// A number that may be absent, kept as None in a file.
inline void serialize_optional(Serializer& serializer, const std::string& name, std::optional<double>& value) {
  Array array;
  if (serializer.is_writer() && value) array = full({}, *value, Dtype::float64);
  serializer(name, array);
  if (!serializer.is_writer()) value = array.is_defined() ? std::optional(array.item<double>()) : std::nullopt;
}

}  // namespace kusari::training
