#include "kusari/framework/core/callable.h"

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

int twice(int x) { return 2 * x; }

TEST_CASE("callable: functions, lambdas, objects and other wrappers") {
  const Callable<int(int)> function = twice, pointer = &twice, lambda = [](int x) { return x + 1; },
                           wrapped = std::function<int(int)>(twice);
  CHECK(function(3) == 6);
  CHECK(pointer(3) == 6);
  CHECK(lambda(3) == 4);
  CHECK(wrapped(3) == 6);
  const std::function<int(int)> back = lambda;
  CHECK(back(3) == 4);
  int sum = 0;
  const Callable<void(int)> drops_result = [&](int x) { return sum += x; };
  drops_result(5);
  CHECK(sum == 5);
  const Callable<std::string(const std::string&)> converts = [](const std::string& s) { return s.c_str(); };
  CHECK(converts("text") == "text");
  const Callable<int(std::unique_ptr<int>)> takes = [](std::unique_ptr<int> p) { return *p; };
  CHECK(takes(std::make_unique<int>(4)) == 4);
}

TEST_CASE("callable: empty ones") {
  using F = Callable<int(int)>;
  int (*const none)(int) = nullptr;
  for (const F& f : {F(), F(nullptr), F(none), F(std::function<int(int)>()), F(F())}) {
    CHECK(!f);
    CHECK(f == nullptr);
    CHECK_THROWS_WITH_AS(f(1), "Callable: it is called, but holds no function", StateError);
  }
  F f = twice;
  CHECK(f != nullptr);
  const F moved = std::move(f);
  CHECK(moved(1) == 2);
  CHECK(!f);
  f = moved;
  CHECK(f(2) == 4);
  f = nullptr;
  CHECK(!f);
}

TEST_CASE("callable: a copy has an object of its own") {
  const auto alive = std::make_shared<int>(0);
  {
    const Callable<int()> first = [alive, count = 0]() mutable { return ++count; };
    CHECK(first() == 1);
    const Callable<int()> second = first;
    CHECK(alive.use_count() == 3);
    CHECK(first() == 2);
    CHECK(first() == 3);
    CHECK(second() == 2);
    std::vector<Callable<int()>> many(4, second);
    CHECK(alive.use_count() == 7);
    many.resize(1);
    CHECK(alive.use_count() == 4);
  }
  CHECK(alive.use_count() == 1);
}

TEST_CASE("callable: what its object throws when it is copied leaves the old one") {
  struct Single {
    Single() = default;
    Single(const Single&) { throw ValueError("copied"); }
    Single(Single&&) noexcept {}
    int operator()() const { return 1; }
  };
  const Callable<int()> single = Single();
  Callable<int()> two = [] { return 2; };
  CHECK_THROWS_AS(two = single, ValueError);
  CHECK(two() == 2);
}

TEST_CASE("callable: made of nothing that it could not call") {
  static_assert(std::is_constructible_v<Callable<void(int)>, int (*)(int)>);
  static_assert(!std::is_constructible_v<Callable<void(int)>, void (*)(std::string)>);
  static_assert(!std::is_constructible_v<Callable<int(int)>, void (*)(int)>);
  static_assert(!std::is_constructible_v<Callable<int(int)>, int>);
  struct WithMember {
    int number() const { return 3; }
  };
  static_assert(!std::is_constructible_v<Callable<int(const WithMember&)>, decltype(&WithMember::number)>);
  static_assert(std::is_nothrow_move_constructible_v<Callable<int(int)>>);
}

}  // namespace
}  // namespace kusari
