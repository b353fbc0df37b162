#include "kusari/framework/distributed/communicator.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/distributed/run_ranks.h"
#include "kusari/tests/core/child_process.h"

namespace kusari {
namespace {

using distributed::Communicator;
using distributed::run_ranks;
using distributed::RunRanksOptions;

/// Values that rank r gives: r * 1000 + 0, 1, 2, ...
Array numbers_of(int rank, int64_t n, Dtype dtype = Dtype::float32) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(rank * 1000.0 + static_cast<double>(i));
  return array<double>(values).astype(dtype);
}

template <class F>
void with_ranks(int n, F f) {
  run_ranks(n, [&](Communicator& comm) { f(comm); });
}

TEST_CASE("communicator: a process by itself is rank 0 of 1") {
  const Communicator comm = distributed::create_communicator();
  CHECK(comm.rank() == 0);
  CHECK(comm.size() == 1);
  CHECK(comm.intra_size() == 1);
  CHECK(comm.inter_size() == 1);
  CHECK(comm.is_root());
  CHECK(comm.name() == "auto");
  const Array x = array<float>({1, 2, 3});
  CHECK(comm.allreduce(x).to_vector<float>() == x.to_vector<float>());
  CHECK(comm.bcast(x).to_vector<float>() == x.to_vector<float>());
  CHECK(comm.allgather(x).size() == 1);
  CHECK(comm.scatter(std::vector<Array>{x}).to_vector<float>() == x.to_vector<float>());
  CHECK(comm.split(3, 4).size() == 1);
  comm.barrier();
  CHECK(comm.bcast_obj("a") == "a");
}

TEST_CASE("communicator: arrays reach whom they are for, with shape and dtype") {
  for (const int n : {2, 3, 5}) {
    CAPTURE(n);
    with_ranks(n, [](Communicator& comm) {
      const int rank = comm.rank(), size = comm.size();
      // Larger than what goes in one message, and on a rank other than 0.
      const Array big = numbers_of(rank, 100'000);
      for (const int root : {0, size - 1}) {
        const Array got = comm.bcast(rank == root ? big.reshape({100, 1000}) : Array(), root);
        CHECK(got.shape() == Shape{100, 1000});
        CHECK(got.to_vector<float>() == numbers_of(root, 100'000).to_vector<float>());
        const std::vector<Array> gathered = comm.gather(numbers_of(rank, rank + 1, Dtype::int32), root);
        REQUIRE(gathered.size() == (rank == root ? static_cast<size_t>(size) : 0));
        for (size_t r = 0; r < gathered.size(); ++r) {
          CHECK(gathered[r].dtype() == Dtype::int32);
          CHECK(gathered[r].to_vector<int32_t>() ==
                numbers_of(static_cast<int>(r), static_cast<int64_t>(r) + 1).to_vector<int32_t>());
        }
        std::vector<Array> parts;
        for (int r = 0; r < size && rank == root; ++r) parts.push_back(numbers_of(r, r + 2).reshape({-1, 1}));
        CHECK(comm.scatter(parts, root).to_vector<float>() == numbers_of(rank, rank + 2).to_vector<float>());
      }
      const std::vector<Array> all = comm.allgather(numbers_of(rank, 3, Dtype::float16));
      REQUIRE(all.size() == static_cast<size_t>(size));
      for (int r = 0; r < size; ++r) {
        CHECK(all[static_cast<size_t>(r)].dtype() == Dtype::float16);
        CHECK(all[static_cast<size_t>(r)].to_vector<float>() == numbers_of(r, 3, Dtype::float16).to_vector<float>());
      }
      std::vector<Array> parts;
      for (int r = 0; r < size; ++r) parts.push_back(numbers_of(10 * rank + r, rank + 1));
      const std::vector<Array> got = comm.alltoall(parts);
      for (int r = 0; r < size; ++r) {
        CHECK(got[static_cast<size_t>(r)].to_vector<float>() == numbers_of(10 * r + rank, r + 1).to_vector<float>());
      }
    });
  }
}

TEST_CASE("communicator: sums are those of all ranks, the same bits everywhere") {
  for (const int n : {2, 3, 4, 7}) {
    // Below and above what goes whole, and in several slices.
    for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{4099}, int64_t{2'500'001}}) {
      CAPTURE(n);
      CAPTURE(size);
      if (size > 1'000'000 && n > 3) continue;
      with_ranks(n, [size](Communicator& comm) {
        for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::float16, Dtype::int32}) {
          if (size > 1'000'000 && dtype != Dtype::float32) continue;
          const Array x = numbers_of(comm.rank(), size, Dtype::float64);
          const Array scaled = x.astype(dtype);
          const std::vector<double> sum = comm.allreduce(scaled).to_vector<double>();
          REQUIRE(sum.size() == static_cast<size_t>(size));
          double largest = 0;
          for (size_t i = 0; i < sum.size(); ++i) {
            double expected = 0;
            for (int r = 0; r < comm.size(); ++r) {
              const double value = r * 1000.0 + static_cast<double>(i);
              expected += dtype == Dtype::float16
                              ? static_cast<double>(static_cast<float>(float16(static_cast<float>(value))))
                              : value;
            }
            const double scale = std::max(1.0, std::abs(expected));
            largest = std::max(largest, std::abs(sum[i] - expected) / scale);
          }
          CHECK(largest <= (dtype == Dtype::float16 ? 1e-3 : dtype == Dtype::float32 ? 3e-7 : 0));
          const std::vector<Array> of_all = comm.allgather(comm.allreduce(scaled));
          for (const Array& other : of_all) CHECK(other.to_vector<double>() == sum);
        }
      });
    }
  }
}

TEST_CASE("communicator: reduce, reduce_scatter and the mean") {
  with_ranks(3, [](Communicator& comm) {
    const int rank = comm.rank();
    const Array sum = comm.reduce(numbers_of(rank, 4), 1);
    CHECK(sum.is_defined() == (rank == 1));
    if (rank == 1) CHECK(sum.to_vector<float>() == std::vector<float>{3000, 3003, 3006, 3009});
    std::vector<Array> parts;
    for (int r = 0; r < 3; ++r) parts.push_back(numbers_of(rank, r + 1));
    std::vector<float> expected;
    for (int i = 0; i <= rank; ++i) expected.push_back(3000.0f + 3.0f * static_cast<float>(i));
    CHECK(comm.reduce_scatter(parts).to_vector<float>() == expected);
    CHECK(comm.multi_node_mean(numbers_of(rank, 2)).to_vector<float>() == std::vector<float>{1000, 1001});
  });
}

TEST_CASE("communicator: messages between two ranks keep their order, and tags apart") {
  with_ranks(2, [](Communicator& comm) {
    const std::string large(100'000, 'x');
    if (comm.rank() == 0) {
      comm.send_obj("first", 1, 7);
      comm.send_obj("other tag", 1, 8);
      comm.send_obj(large, 1, 7);
      comm.send(numbers_of(0, 5), 1);
    } else {
      CHECK(comm.recv_obj(0, 8) == "other tag");
      CHECK(comm.recv_obj(0, 7) == "first");
      CHECK(comm.recv_obj(0, 7) == large);
      CHECK(comm.recv(0).to_vector<float>() == numbers_of(0, 5).to_vector<float>());
    }
  });
}

TEST_CASE("communicator: objects") {
  with_ranks(4, [](Communicator& comm) {
    const std::string own = "of rank " + std::to_string(comm.rank());
    CHECK(comm.bcast_obj(own, 2) == "of rank 2");
    const std::vector<std::string> all = comm.allgather_obj(own);
    CHECK(all == std::vector<std::string>{"of rank 0", "of rank 1", "of rank 2", "of rank 3"});
    CHECK(comm.gather_obj(own, 3).size() == (comm.rank() == 3 ? 4 : 0));
    CHECK(comm.scatter_obj(all) == own);
    CHECK(comm.alltoall_obj(all)[1] == own);
    CHECK(comm.allreduce_obj(std::string(1, static_cast<char>('a' + comm.rank())),
                             [](const std::string& a, const std::string& b) { return a + b; }) == "abcd");
    CHECK(comm.allreduce_obj(2.5) == 10.0);
    distributed::NamedNumbers numbers{{"loss", comm.rank()}};
    if (comm.rank() == 1) numbers["only here"] = 5;
    CHECK(comm.allreduce_obj(numbers) == distributed::NamedNumbers{{"loss", 6}, {"only here", 5}});
    const std::string odd("a\0b", 3);
    CHECK(comm.allreduce_obj({{odd, 1}, {"c", 2}}) == distributed::NamedNumbers{{odd, 4}, {"c", 8}});
  });
}

TEST_CASE("communicator: parts of a group, and machines") {
  run_ranks(6,
            [](Communicator& comm) {
              CHECK(comm.intra_rank() == comm.rank() % 2);
              CHECK(comm.intra_size() == 2);
              CHECK(comm.inter_rank() == comm.rank() / 2);
              CHECK(comm.inter_size() == 3);
              const Communicator half = comm.split(comm.rank() % 2, -comm.rank());
              CHECK(half.size() == 3);
              CHECK(half.rank() == 2 - comm.rank() / 2);
              CHECK(half.intra_size() == 1);
              CHECK(half.inter_size() == 3);
              // Operations of one are not those of another.
              const Communicator same = comm.duplicate();
              const double sum = half.allreduce_obj(comm.rank());
              CHECK(sum == (comm.rank() % 2 == 0 ? 6 : 9));
              CHECK(same.allreduce_obj(1) == 6);
              CHECK(comm.shard().rank == comm.rank());
              CHECK(comm.shard().size == 6);
            },
            {.intra_size = 2});
}

TEST_CASE("communicator: a rank's exception reaches the others, and the caller") {
  std::atomic<int> remote = 0;
  const auto fail = [&](Communicator& comm) {
    if (comm.rank() == 1) throw ValueError("the data is gone");
    try {
      comm.allreduce(numbers_of(comm.rank(), 10));
    } catch (const RemoteError& error) {
      ++remote;
      CHECK(std::string(error.what()) == "rank 1 of 3 (thread 1): ValueError: the data is gone");
      throw;
    }
  };
  CHECK_THROWS_WITH_AS(run_ranks(3, fail), "the data is gone", ValueError);
  CHECK(remote == 2);
}

TEST_CASE("communicator: a rank that leaves is named where others wait for it") {
  const auto leave = [](Communicator& comm) {
    if (comm.rank() == 0) return;
    comm.barrier();
  };
  CHECK_THROWS_WITH_AS(
      run_ranks(2, leave),
      "rank 0 of 2 (thread 0) has left the group, and rank 1 of 2 (thread 1) waits for it in barrier 2", RemoteError);
  const auto use_later = [](Communicator& comm) {
    comm.finalize();
    comm.barrier();
  };
  CHECK_THROWS_WITH_AS(run_ranks(2, use_later), "barrier: the communicator was finalized", StateError);
}

TEST_CASE("communicator: another order of calls is an error with both calls") {
  const auto differ = [](Communicator& comm) {
    if (comm.rank() == 0) {
      comm.bcast_obj("x");
      comm.barrier();
    } else {
      comm.barrier();
      comm.bcast_obj("");
    }
  };
  try {
    run_ranks(2, differ);
    FAIL("no error");
  } catch (const StateError& error) {
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(text.find("calls barrier as operation 2") != std::string::npos);
    CHECK(text.find("calls bcast_obj as operation 2") != std::string::npos);
  }
}

TEST_CASE("communicator: a rank that does not come is named") {
  std::atomic<bool> is_over = false;
  const auto hang = [&](Communicator& comm) {
    if (comm.rank() == 1) {
      while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return;
    }
    try {
      comm.allreduce(numbers_of(0, 100));
    } catch (...) {
      is_over = true;
      throw;
    }
  };
  try {
    run_ranks(3, hang, {.stall_warning = 0.2, .timeout = 2});
    FAIL("no error");
  } catch (const RemoteError& error) {
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(text.find("rank 1 (thread 1) has not reached all-reduce 2; ranks 0, 2 wait for 2 s") != std::string::npos);
  }
}

TEST_CASE("communicator: a rank that does not even begin is named by its number") {
  std::vector<std::unique_ptr<collectives::Transport>> transports = collectives::thread_transports(2);
  const collectives::WorldOptions waits{std::chrono::duration<double>(0.05), std::chrono::duration<double>(0.5)};
  CHECK_THROWS_WITH_AS(collectives::Group(std::move(transports[0]), waits, false),
                       doctest::Contains("rank 1 has not reached create_communicator"), RemoteError);
}

TEST_CASE("communicator: arguments") {
  CHECK_THROWS_WITH_AS(
      distributed::create_communicator("hierarchical"),
      "create_communicator: 'hierarchical' is no communicator: it must be one of auto, pure_nccl, naive, "
      "flat, non_cuda_aware, dummy",
      ValueError);
  CHECK_THROWS_AS(distributed::create_communicator("naive", {.allreduce_grad_dtype = Dtype::int32}), ValueError);
  with_ranks(2, [](Communicator& comm) {
    CHECK_THROWS_WITH_AS(comm.bcast(numbers_of(0, 1), 2), "Communicator::bcast: root is 2: it must be a rank of the 2",
                         ValueError);
    CHECK_THROWS_AS(comm.send_obj("", comm.rank()), ValueError);
    CHECK_THROWS_AS(comm.send_obj("", 1 - comm.rank(), 40000), ValueError);
    CHECK_THROWS_AS(comm.alltoall_obj(std::vector<std::string>(3)), ValueError);
    CHECK_THROWS_AS(comm.allreduce(Array()), TypeError);
    CHECK_THROWS_AS(comm.allreduce(numbers_of(0, 1, Dtype::bool_)), TypeError);
    CHECK_THROWS_AS(comm.split(-1, 0), ValueError);
    CHECK_THROWS_AS(comm.set_config("nothing", ""), KeyError);
    comm.set_config("allreduce_grad_dtype", "float16");
    CHECK(comm.get_config("allreduce_grad_dtype") == "float16");
    const Array other = numbers_of(0, 2 + comm.rank());
    try {
      comm.allreduce(other);
      FAIL("no error");
    } catch (const TypeError& error) {
      CHECK(std::string(error.what()) ==
            "Communicator::allreduce: rank 1 of 2 (thread 1) gives float32 (3,) but rank 0 of 2 (thread 0) gives "
            "float32 (2,): they must be alike");
    }
  });
  CHECK_THROWS_AS(run_ranks(0, [](Communicator&) {}), ValueError);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need more memory than there will be
TEST_CASE("communicator: threads that the system does not give") {
  const testing::ChildResult child = testing::run_in_child("", "run many ranks in little memory");
  CHECK_MESSAGE(child.exit_code == 0, child.output);
}

TEST_CASE("run many ranks in little memory" * doctest::skip()) {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto bytes = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (rlim_t{32} << 20);  // a few stacks
  const rlimit limit{bytes, bytes};
  REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
  std::atomic<int> calls{0};
  std::string what;
  try {
    run_ranks(64, [&](Communicator&) { ++calls; });
  } catch (const WorkerError& error) {
    what = error.what();
  }
  CHECK(what.starts_with("run_ranks: no more than "));
  CHECK(what.ends_with(" of 64 threads can be started"));
  CHECK(calls == 0);
}
#endif

TEST_CASE("communicator: ranks that are threads draw the same random numbers") {
  std::vector<uint64_t> drawn(3);
  with_ranks(3, [&](Communicator& comm) { drawn[static_cast<size_t>(comm.rank())] = random::bits(); });
  CHECK(drawn[0] == drawn[1]);
  CHECK(drawn[0] == drawn[2]);
}

}  // namespace
}  // namespace kusari
