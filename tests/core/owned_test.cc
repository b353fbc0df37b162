#include "kusari/framework/core/owned.h"

#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace kusari {
namespace {

int living = 0;

struct Base {
  explicit Base(int value) : number{value} { ++living; }
  Base(const Base&) = delete;
  virtual ~Base() { --living; }
  int number;
};
struct Derived : Base {
  using Base::Base;
};

struct Hidden;  // complete below alone
struct Keeper {
  Keeper();
  Keeper(Keeper&&) noexcept = default;
  ~Keeper();
  Owned<Hidden> hidden;
};
struct Hidden : Base {
  using Base::Base;
};
Keeper::Keeper() : hidden{new Hidden(7)} {}
Keeper::~Keeper() = default;

}  // namespace

TEST_CASE("owned: one owner, which the object goes with") {
  living = 0;
  {
    Owned<Base> a(new Base(1));
    CHECK(a->number == 1);
    CHECK((*a).number == 1);
    Owned<Base> b = std::move(a);
    CHECK_FALSE(a);
    CHECK(a == nullptr);
    CHECK(b.get()->number == 1);
    a = Owned<Base>(new Base(2));
    CHECK(living == 2);
    b = std::move(a);  // the object that it had goes at once
    CHECK(living == 1);
    CHECK(b->number == 2);
    Owned<Base>& self = b;
    b = std::move(self);
    CHECK(b->number == 2);
    b.reset();
    CHECK(living == 0);
    b = Owned<Base>(new Base(3));
  }
  CHECK(living == 0);
}

TEST_CASE("owned: takes over what other owners have, and gives it up") {
  living = 0;
  {
    Owned<Base> a = std::make_unique<Derived>(1);
    Owned<Base> b = Owned<Derived>(new Derived(2));
    CHECK(a->number + b->number == 3);
    const std::unique_ptr<Base> given(a.release());
    CHECK(a == nullptr);
    CHECK(given->number == 1);
    std::vector<Owned<Base>> several;
    for (int i = 0; i < 9; ++i) several.emplace_back(new Base(i));
    CHECK(several[8]->number == 8);
    CHECK(living == 11);
  }
  CHECK(living == 0);
}

TEST_CASE("owned: a type that the header only declares") {
  living = 0;
  {
    Keeper keeper;
    const Keeper other = std::move(keeper);
    CHECK(other.hidden->number == 7);
  }
  CHECK(living == 0);
}

}  // namespace kusari
