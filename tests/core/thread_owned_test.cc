#include "kusari/framework/core/thread_owned.h"

#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"

namespace kusari::detail {
namespace {

std::vector<int> destroyed;  // numbers of objects, of one thread at a time

template <int kNumber>
struct Numbered {
  int uses = 0;
  ~Numbered() { destroyed.push_back(kNumber); }
};

constinit thread_local Numbered<1>* t_first = nullptr;
constinit thread_local Numbered<2>* t_second = nullptr;

struct UsesFirst {
  ~UsesFirst() { ++thread_owned(t_first).uses; }
};
constinit thread_local UsesFirst* t_user = nullptr;

}  // namespace

TEST_CASE("thread_owned: one object for each thread, which goes with it, the last one first") {
  destroyed.clear();
  std::thread([] {
    Numbered<1>& first = thread_owned(t_first);
    ++first.uses;
    CHECK(&thread_owned(t_first) == &first);
    CHECK(thread_owned(t_first).uses == 1);
    ++thread_owned(t_second).uses;
    CHECK(destroyed.empty());
  }).join();
  CHECK(destroyed == std::vector<int>{2, 1});
  std::thread([] { CHECK(thread_owned(t_first).uses == 0); }).join();
  CHECK(destroyed == std::vector<int>{2, 1, 1});
}

TEST_CASE("this_thread: another number for each thread that lives, and never 0") {
  const uint64_t here = this_thread();
  uint64_t there = 0;
  std::thread([&] { there = this_thread(); }).join();
  CHECK(here != 0);
  CHECK(there != 0);
  CHECK(here != there);
  CHECK(this_thread() == here);
}

TEST_CASE("thread_owned: what is destroyed later may make an object again") {
  destroyed.clear();
  std::thread([] {
    thread_owned(t_user);
    thread_owned(t_first);
  }).join();
  CHECK(destroyed == std::vector<int>{1, 1});
}

TEST_CASE("thread_owned: settings of a thread go with it") {
  for (int i = 0; i < 2; ++i) {
    std::thread([] {
      CHECK(static_cast<bool>(config().train));
      config().train = false;
    }).join();
  }
  CHECK(static_cast<bool>(config().train));
}

}  // namespace kusari::detail
