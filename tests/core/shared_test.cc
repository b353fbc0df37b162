#include "kusari/framework/core/shared.h"

#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace kusari {
namespace {

struct Interface {
  virtual ~Interface() = default;
  virtual int number() const = 0;
};
struct Living final : Interface {
  explicit Living(int& living, int n) : living_{&living}, n_{n} { ++living; }
  Living(Living&& other) noexcept : living_{other.living_}, n_{other.n_} { ++*living_; }
  ~Living() override { --*living_; }
  int number() const override { return n_; }

 private:
  int* living_;
  int n_;
};

TEST_CASE("shared: the object lives as long as one of its owners") {
  int living = 0;
  {
    Shared<const Interface> first = Shared<const Interface>::of<Living>(Living(living, 7));
    CHECK(living == 1);
    const Shared<const Interface> second = first;
    CHECK(first == second);
    first = nullptr;
    CHECK(!first);
    CHECK(living == 1);
    CHECK(second->number() == 7);
    const Shared<const Interface> third = std::make_shared<Living>(living, 8);
    CHECK((*third).number() == 8);
    CHECK(third != second);
    CHECK(living == 2);
  }
  CHECK(living == 0);
}

TEST_CASE("shared: with owners of another kind, and without owners") {
  int living = 0;
  auto other = std::make_shared<Living>(living, 1);
  Shared<Interface> own = other;
  other.reset();
  CHECK(living == 1);
  CHECK(own->number() == 1);
  own = Shared<Interface>();
  CHECK(living == 0);
  CHECK(!Shared<Interface>(std::shared_ptr<Living>()));
  Living here(living, 2);
  {
    const Shared<Interface> refers = Shared<Interface>::to(here);
    const Shared<Interface> copy = refers;
    CHECK(copy.get() == &here);
  }
  CHECK(living == 1);
}

TEST_CASE("shared: one that was moved from has nothing") {
  int living = 0;
  Shared<Interface> first = Shared<Interface>::of<Living>(Living(living, 4));
  { const Shared<Interface> taken = std::move(first); }
  CHECK(living == 0);
  CHECK(!first);
  Living here(living, 5);
  Shared<Interface> refers = Shared<Interface>::to(here), other;
  other = std::move(refers);
  CHECK(!refers);
  CHECK(other->number() == 5);
  static_assert(!std::is_constructible_v<Shared<Interface>, std::shared_ptr<int>>);
}

TEST_CASE("shared: owners in several threads") {
  int living = 0;
  {
    const Shared<Interface> one = Shared<Interface>::of<Living>(Living(living, 3));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([one] {
        for (int k = 0; k < 1000; ++k) {
          const Shared<Interface> copy = one;
          const Shared<Interface> another = copy;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(living == 1);
    CHECK(one->number() == 3);
  }
  CHECK(living == 0);
}

}  // namespace
}  // namespace kusari
