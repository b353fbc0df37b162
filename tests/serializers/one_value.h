#pragma once

#include <string>

#include "kusari/framework/core/serializer.h"

namespace kusari::testing {

/// One value under one name.
template <class T>
struct OneValue {
  std::string name;
  T value;
  void serialize(Serializer& s) { s(name, value); }
};

}  // namespace kusari::testing
