#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/image/cifar.h"
#include "kusari/framework/datasets/image/image_dataset.h"
#include "kusari/framework/datasets/image_converter.h"
#include "kusari/framework/datasets/stroke_digits.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/framework/datasets/transforms/compose.h"
#include "kusari/framework/datasets/transforms/crop.h"
#include "kusari/framework/datasets/transforms/flip.h"
#include "kusari/framework/datasets/transforms/normalize.h"
#include "kusari/framework/datasets/transforms/pad.h"
#include "kusari/framework/datasets/transforms/pca_lighting.h"
#include "kusari/framework/datasets/transforms/random_sized_crop.h"
#include "kusari/framework/datasets/transforms/resize.h"
#include "kusari/framework/datasets/transforms/ten_crop.h"
#include "kusari/tests/datasets/image/codecs.h"
#include "kusari/tests/iterators/iterators_under_test.h"
#include "kusari/tests/scratch_directory.h"

// config.dtype decides what a converter makes of a batch, and nothing before it: data sets, transforms and iterators
// do the same work for float16 as for float32, none of it in 16 bits.
namespace kusari::testing {
namespace {

namespace T = datasets::transforms;
using datasets::Example;

/// The kernels that ran, and whether one of them saw a 16-bit array.
class Launches final : public LaunchObserver {
 public:
  void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override {
    names.push_back(launch.name);
    for (const LaunchArgument& argument : launch.arguments) {
      using Kind = LaunchArgument::Kind;
      if (argument.kind == Kind::in || argument.kind == Kind::out || argument.kind == Kind::in_out) {
        see(*static_cast<const Array*>(argument.value));
      } else if (argument.kind == Kind::in_list || argument.kind == Kind::in_out_list) {
        for (const Array& array : *static_cast<const std::span<const Array>*>(argument.value)) see(array);
      }
    }
    proceed(launch);
  }

  std::vector<std::string> names;
  bool saw_half = false;

 private:
  void see(const Array& array) { saw_half |= array.is_defined() && is_half(array.dtype()); }
};

/// What came out of a loader, and how.
struct Loaded {
  std::vector<Dtype> dtypes;
  std::vector<std::vector<double>> values;
  std::vector<std::string> launches;
  friend bool operator==(const Loaded&, const Loaded&) = default;
};

using Loader = std::function<void(Loaded&)>;

void add(Loaded& loaded, const Example& example) {
  for (const Array& array : example) {
    loaded.dtypes.push_back(array.dtype());
    loaded.values.push_back(array.to_vector<double>());
  }
}

Loaded load(DtypePolicy policy, const Loader& loader) {
  const auto guard = using_config(&Config::dtype, policy);
  random::seed(4);
  Launches launches;
  Loaded loaded;
  {
    const ScopedLaunchObserver observer(launches);
    loader(loaded);
  }
  CHECK_FALSE(launches.saw_half);
  loaded.launches = std::move(launches.names);
  for (const Dtype dtype : loaded.dtypes) CHECK_FALSE(is_half(dtype));
  return loaded;
}

void check_policy(const Loader& loader) {
  const Loaded expected = load(Dtype::float32, loader);
  CHECK_FALSE(expected.values.empty());
  for (const DtypePolicy policy : {DtypePolicy(Dtype::float16), DtypePolicy(Dtype::bfloat16), mixed16, mixed_bf16}) {
    CHECK(load(policy, loader) == expected);
  }
}

Loader all_of(const std::function<std::unique_ptr<datasets::Dataset>()>& make) {
  return [make](Loaded& loaded) {
    const auto data = make();
    for (int64_t i = 0; i < data->size(); ++i) add(loaded, data->get(i));
  };
}

template <class Data>
std::unique_ptr<datasets::Dataset> boxed(Data data) {
  return std::make_unique<Data>(std::move(data));
}

datasets::TupleDataset images(Dtype dtype) {
  std::vector<int32_t> pixels(6 * 3 * 12 * 10);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<int32_t>(i * i % 251);
  return datasets::TupleDataset(array(pixels, {6, 3, 12, 10}).astype(dtype), arange(6, Dtype::int32));
}

auto augmented(Dtype dtype) {
  return datasets::TransformDataset(images(dtype),
                                    T::on_image(T::Pad{2}, T::RandomSizedCrop{8}, T::RandomFlip{}, T::PcaLighting{25.5},
                                                T::Normalize{.mean = {120, 110, 100}, .deviation = {60}}));
}

TEST_CASE("the check sees 16 bits") {
  Launches launches;
  {
    const ScopedLaunchObserver observer(launches);
    (void)ones({3}).astype(Dtype::float16);
  }
  CHECK(launches.saw_half);
}

TEST_CASE("data sets do the same work whatever config.dtype is") {
  check_policy(all_of([] { return boxed(datasets::get_stroke_digits({.n_train = 8, .n_test = 1}).train); }));
  const ScratchDirectory dir;
  std::string record(1, '\3');
  for (int i = 0; i < 3072; ++i) record.push_back(static_cast<char>(i * i % 256));
  write_file(dir / "cifar.bin", record + record);
  for (const Dtype dtype : {Dtype::float32, Dtype::uint8}) {
    check_policy(all_of([&] { return boxed(datasets::read_cifar10(dir / "cifar.bin", {.dtype = dtype})); }));
  }
#ifdef KUSARI_WITH_JPEG
  Bytes samples;
  for (int i = 0; i < 20 * 30 * 3; ++i) samples.push_back(static_cast<uint8_t>(i * 7 % 256));
  write_file(dir / "a.jpg", as_string(encode_jpeg({.width = 30, .height = 20}, samples)));
  for (const Dtype dtype : {Dtype::float32, Dtype::uint8}) {
    check_policy(all_of([&] {
      return boxed(datasets::LabeledImageDataset({{"a.jpg", 1}}, {.root = dir.path(), .dtype = dtype}));
    }));
    check_policy(all_of([&] {
      return boxed(datasets::ImageDataset(
          {"a.jpg"}, {.root = dir.path(), .dtype = dtype, .random_sized_crop = T::RandomSizedCrop{8}}));
    }));
  }
#endif
}

TEST_CASE("transforms do the same work whatever config.dtype is") {
  for (const Dtype dtype : {Dtype::float32, Dtype::uint8}) {
    const Array image = images(dtype).get(1)[0];
    const auto of = [&](const auto& transform) {
      check_policy([&](Loaded& loaded) {
        datasets::ExampleRandom random(3);
        if constexpr (T::RandomTransform<std::remove_cvref_t<decltype(transform)>>) {
          add(loaded, {transform(image, random)});
        } else {
          add(loaded, {transform(image)});
        }
      });
    };
    of(T::CenterCrop{4});
    of(T::RandomCrop{4});
    of(T::Flip{});
    of(T::RandomFlip{});
    of(T::Normalize{.mean = {1, 2, 3}, .deviation = {4}});
    of(T::Pad{3, T::PadMode::reflect});
    of(T::PcaLighting{25.5});
    of(T::RandomSizedCrop{5});
    of(T::Resize{7});
    of(T::Scale{6});
    of(T::TenCrop{4});
    if (dtype == Dtype::float32) of(T::SubtractMean{images(Dtype::float32).get(0)[0], 2.0});
  }
}

TEST_CASE("iterators do the same work whatever config.dtype is") {
  for (const IteratorClass& c : iterator_classes()) {
    CAPTURE(c.name);
    for (const Dtype dtype : {Dtype::float32, Dtype::uint8}) {
      check_policy([&](Loaded& loaded) {
        const auto iterator = c.make(augmented(dtype), 4, {});
        for (int i = 0; i < 3; ++i) {
          for (const Example& example : iterator->next()) add(loaded, example);
        }
      });
    }
  }
}

TEST_CASE("converters alone give config.dtype, and send what they were given") {
  const Example example = augmented(Dtype::float32).get(0), bytes = images(Dtype::uint8).get(0);
  const auto policy = using_config(&Config::dtype, Dtype::float16);
  const auto check = [](const datasets::Converter& converter, const Example& of) {
    const std::vector<Example> batch{of, of};
    const Example sent = converter.upload(batch, Device());
    CHECK(sent[0].dtype() == of[0].dtype());
    CHECK(sent[1].dtype() == Dtype::int32);
    const Example batch_arrays = converter.finish(sent);
    CHECK(batch_arrays[0].dtype() == Dtype::float16);
    CHECK(batch_arrays[1].dtype() == Dtype::int32);
  };
  check(datasets::concat_converter(), example);
  check(datasets::image_converter({.deviation = {255}}), bytes);
}

}  // namespace
}  // namespace kusari::testing
