#include "kusari/framework/core/small_vector.h"

#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "kusari/framework/core/intrusive_ptr.h"

namespace kusari {
namespace {

using Strings = SmallVector<std::string, 2>;

Strings make(int n) {
  Strings v;
  for (int i = 0; i < n; ++i) v.push_back("a string longer than its inline buffer " + std::to_string(i));
  return v;
}

TEST_CASE("elements live inside the object, then on the heap") {
  SmallVector<int, 4> v;
  const auto inside = [&] {
    const auto* begin = reinterpret_cast<const char*>(&v);
    const auto* data = reinterpret_cast<const char*>(v.data());
    return data >= begin && data < begin + sizeof(v);
  };
  for (int i = 0; i < 4; ++i) v.push_back(i);
  CHECK(inside());
  v.push_back(4);
  CHECK_FALSE(inside());
  for (int i = 0; i < 5; ++i) CHECK(v[static_cast<size_t>(i)] == i);
  CHECK(v.front() == 0);
  CHECK(v.back() == 4);
}

TEST_CASE("copies are independent, moves take over") {
  for (int n : {0, 1, 2, 3, 10}) {
    CAPTURE(n);
    Strings a = make(n);
    Strings copy = a;
    CHECK(copy == a);
    if (n > 0) copy[0] = "x";
    CHECK(a == make(n));
    Strings moved = std::move(a);
    CHECK(moved == make(n));
    for (int m : {0, 2, 5}) {
      Strings target = make(m);
      target = moved;
      CHECK(target == make(n));
      Strings other = make(m);
      other = std::move(target);
      CHECK(other == make(n));
    }
    moved = *&moved;
    CHECK(moved == make(n));
  }
}

TEST_CASE("push_back of an own element survives growth") {
  Strings v = make(2);
  v.push_back(v[0]);
  CHECK(v[2] == v[0]);
  v.emplace_back(v[1]);
  CHECK(v[3] == v[1]);
}

TEST_CASE("insert, erase and resize keep the order") {
  SmallVector<int, 2> v{1, 2, 3};
  v.insert(v.begin(), 0);
  v.insert(v.end(), 4);
  CHECK(v == SmallVector<int, 2>{0, 1, 2, 3, 4});
  v.erase(v.begin() + 2);
  CHECK(v == SmallVector<int, 2>{0, 1, 3, 4});
  v.resize(2);
  CHECK(v == SmallVector<int, 2>{0, 1});
  v.resize(3);
  CHECK(v == SmallVector<int, 2>{0, 1, 0});
  v.clear();
  CHECK(v.empty());
  CHECK_FALSE(v == SmallVector<int, 2>{1});
}

TEST_CASE("elements are destroyed exactly once") {
  const auto token = std::make_shared<int>(7);
  {
    SmallVector<std::shared_ptr<int>, 2> v(5, token);
    CHECK(token.use_count() == 6);
    v.pop_back();
    CHECK(token.use_count() == 5);
    auto copy = v;
    CHECK(token.use_count() == 9);
    copy = std::move(v);
    CHECK(token.use_count() == 5);
  }
  CHECK(token.use_count() == 1);
}

struct Counted {
  int references = 0;
  int* destroyed = nullptr;
  void retain() noexcept { ++references; }
  void release() noexcept {
    if (--references == 0) ++*destroyed;
  }
};

TEST_CASE("IntrusivePtr counts references") {
  int destroyed = 0;
  Counted object{0, &destroyed};
  {
    IntrusivePtr<Counted> a(&object);
    IntrusivePtr<Counted> b = a;
    CHECK(object.references == 2);
    IntrusivePtr<Counted> c = std::move(b);
    CHECK(object.references == 2);
    CHECK_FALSE(b);
    CHECK(a == c);
    c = nullptr;
    CHECK(object.references == 1);
    a = *&a;
    CHECK(object.references == 1);
    Counted* raw = a.detach();
    CHECK(object.references == 1);
    a = IntrusivePtr<Counted>::adopt(raw);
    CHECK(object.references == 1);
    CHECK(destroyed == 0);
  }
  CHECK(destroyed == 1);
}

}  // namespace
}  // namespace kusari
