#include "kusari/framework/core/type_name.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace named_types {
namespace {
struct Hidden {};
}  // namespace
template <class T>
struct Box {
  struct Lid {};
};
}  // namespace named_types

TEST_CASE("names of classes have no namespaces and no arguments") {
  using kusari::type_name;
  CHECK(type_name(typeid(int)) == "int");
  CHECK(type_name(typeid(named_types::Hidden)) == "Hidden");
  CHECK(type_name(typeid(named_types::Box<std::vector<int>>)) == "Box");
}
