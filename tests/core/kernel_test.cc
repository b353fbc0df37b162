#include "kusari/framework/core/kernel.h"

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

struct Geometry {
  int factor;
};

// A kernel that exists in these tests alone; it calls another one through the door.
struct Weighted {
  static constexpr const char* kName = "test_weighted";
  using Signature = void(In x, Params<Geometry>, Out y);
};
void weighted(In x, Params<Geometry> geometry, Out y) {
  launch<kernels::Copy>(x->device(), *x, *y);
  for (int64_t i = 0; i < y->size(); ++i) y->data<float>()[i] *= static_cast<float>(geometry->factor);
}

struct Everything {
  static constexpr const char* kName = "test_everything";
  using Signature = void(InList, InOutList, InOut, DeviceScalar, Workspace, RandomState, Out);
};
void everything(InList in, InOutList in_out, InOut sum, DeviceScalar scalar, Workspace scratch, RandomState random,
                Out y) {
  std::memset(scratch.data, 1, scratch.bytes);
  y->data<double>()[0] = static_cast<double>(in.arrays().size()) + scalar->data<double>()[0];
  y->data<double>()[1] = static_cast<double>(random.seed + random.offset);
  sum->data<double>()[0] += 1;
  for (const Array& a : in_out.arrays()) a.data<double>()[0] += 1;
}

struct Missing {
  static constexpr const char* kName = "test_missing";
  using Signature = void(In x);
};
struct MissingOtherwise {
  static constexpr const char* kName = "test_missing";
  using Signature = void(Out x);
};

void add_kernels() {
  Device().backend().add<Weighted>(weighted);
  Device().backend().add<Everything>(everything);
}

struct Seen {
  std::string name;
  std::vector<LaunchArgument::Kind> kinds;
  std::vector<size_t> bytes;
};

class Recorder : public LaunchObserver {
 public:
  void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override {
    Seen seen{launch.name, {}, {}};
    for (const LaunchArgument& a : launch.arguments) {
      seen.kinds.push_back(a.kind);
      seen.bytes.push_back(a.bytes);
    }
    CHECK(launch.device == Device());
    CHECK(launch.id.index == kernel_id<Weighted>().index);
    launches.push_back(seen);
    proceed(launch);
  }
  std::vector<Seen> launches;
};

TEST_CASE("launch runs the backend's kernel") {
  add_kernels();
  const Array x = array<float>({1, 2, 3}), y = empty({3});
  launch<Weighted>(Device(), x, Geometry{10}, y);
  CHECK(y.to_vector<float>() == std::vector<float>{10, 20, 30});
}

TEST_CASE("every marker reaches the kernel, observed or not") {
  add_kernels();
  class Proceed : public LaunchObserver {
   public:
    void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override {
      for (const LaunchArgument& a : launch.arguments) kinds.push_back(a.kind);
      proceed(launch);
    }
    std::vector<LaunchArgument::Kind> kinds;
  };
  Proceed observer;
  for (bool observed : {false, true}) {
    const std::vector<Array> in{zeros({1}), zeros({2})};
    const std::vector<Array> in_out{zeros({1}, Dtype::float64)};
    const Array sum = zeros({1}, Dtype::float64), scalar = full({}, 0.5, Dtype::float64);
    const Array y = empty({2}, Dtype::float64);
    unsigned char scratch[16] = {};
    const auto run = [&] {
      launch<Everything>(Device(), InList(in), InOutList(in_out), sum, scalar, Workspace{scratch, 16},
                         RandomState{40, 2}, y);
    };
    if (observed) {
      const ScopedLaunchObserver scope(observer);
      run();
    } else {
      run();
    }
    CHECK(y.to_vector<double>() == std::vector<double>{2.5, 42});
    CHECK(sum.item<double>() == 1);
    CHECK(in_out[0].item<double>() == 1);
    CHECK(scratch[15] == 1);
  }
  using Kind = LaunchArgument::Kind;
  CHECK(observer.kinds == std::vector<Kind>{Kind::in_list, Kind::in_out_list, Kind::in_out, Kind::device_scalar,
                                            Kind::workspace, Kind::random_state, Kind::out});
}

TEST_CASE("a missing kernel names itself and the device") {
  CHECK_THROWS_WITH_AS(launch<Missing>(Device(), zeros({1})),
                       "launch: the backend 'cpu' of device 'cpu' has no kernel 'test_missing'", DeviceError);
  CHECK_THROWS_WITH_AS(kernel_id<MissingOtherwise>(),
                       "intern_kernel: kernel 'test_missing' is declared twice with different signatures", Error);
}

TEST_CASE("observers see the outermost launch alone, in the order of their nesting") {
  add_kernels();
  const Array x = array<float>({1, 2}), y = empty({2});
  Recorder outer, inner;
  {
    const ScopedLaunchObserver first(outer);
    {
      const ScopedLaunchObserver second(inner);
      launch<Weighted>(Device(), x, Geometry{3}, y);
    }
    CHECK(inner.launches.size() == 1);
    CHECK(outer.launches.size() == 1);  // the copy inside is not seen
    launch<Weighted>(Device(), x, Geometry{3}, y);
    std::thread([&] { launch<Weighted>(Device(), x, Geometry{3}, y); }).join();  // another thread's launches are not
  }
  launch<Weighted>(Device(), x, Geometry{3}, y);
  CHECK(inner.launches.size() == 1);
  REQUIRE(outer.launches.size() == 2);
  const Seen& seen = outer.launches[0];
  CHECK(seen.name == "test_weighted");
  using Kind = LaunchArgument::Kind;
  CHECK(seen.kinds == std::vector<Kind>{Kind::in, Kind::params, Kind::out});
  CHECK(seen.bytes == std::vector<size_t>{0, sizeof(Geometry), 0});
  CHECK(y.to_vector<float>() == std::vector<float>{3, 6});
}

TEST_CASE("an observer may run the kernel with other arguments, or not at all") {
  add_kernels();
  class Replace : public LaunchObserver {
   public:
    explicit Replace(const Array& y) : y_{y} {}
    void on_launch(const Launch& launch, void (*)(const Launch&)) override {
      std::vector<LaunchArgument> arguments(launch.arguments.begin(), launch.arguments.end());
      arguments[2].value = &y_;
      launch.run(launch.kernel, arguments.data());
    }

   private:
    Array y_;
  };
  const Array x = array<float>({1, 2}), y = zeros({2}), other = zeros({2});
  Replace replace(other);
  {
    const ScopedLaunchObserver scope(replace);
    launch<Weighted>(Device(), x, Geometry{5}, y);
  }
  CHECK(y.to_vector<float>() == std::vector<float>{0, 0});
  CHECK(other.to_vector<float>() == std::vector<float>{5, 10});
}

TEST_CASE("an exception leaves the observers as they were") {
  add_kernels();
  class Throws : public LaunchObserver {
   public:
    void on_launch(const Launch&, void (*)(const Launch&)) override { throw StateError("no"); }
  };
  Throws throws;
  Recorder recorder;
  const Array x = array<float>({1}), y = zeros({1});
  const ScopedLaunchObserver outer(recorder);
  {
    const ScopedLaunchObserver scope(throws);
    CHECK_THROWS_AS(launch<Weighted>(Device(), x, Geometry{2}, y), StateError);
    CHECK_THROWS_AS(launch<Weighted>(Device(), x, Geometry{2}, y), StateError);
  }
  launch<Weighted>(Device(), x, Geometry{2}, y);
  CHECK(recorder.launches.size() == 1);
}

}  // namespace
}  // namespace kusari
