#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/framework/datasets/example_random.h"

namespace kusari::datasets {

/// The examples of a data set, each passed through a function whenever it is asked for. The function takes the example,
/// or the example and a stream of random numbers that is its own:
/// `TransformDataset(train, transforms::on_image(transforms::RandomCrop{32}, transforms::RandomFlip{}))`.
/// Each access draws the seed of that stream from the process's random stream, so that the result differs every time
/// and is the same again in a run from the same seed; within an ExampleRandomScope it is given. Functions must allow
/// calls from several threads at once.
/// Keys are the data set's. A function that gives other components gets their keys as a last argument: get() throws
/// ValueError where there are keys and not as many components.
/// chainer.datasets.TransformDataset.
class KUSARI_API TransformDataset final : public Dataset {
 public:
  using RandomTransform = Callable<Example(const Example&, ExampleRandom&)>;

  TransformDataset(DatasetRef dataset, Callable<Example(const Example&)> transform,
                   std::optional<Keys> keys = std::nullopt);
  template <class F>
  requires std::is_invocable_r_v<Example, const F&, const Example&, ExampleRandom&> TransformDataset(
      DatasetRef dataset, F transform, std::optional<Keys> keys = std::nullopt)
      : TransformDataset(RandomTransform(std::move(transform)), std::move(dataset), std::move(keys)) {}

  int64_t size() const override { return dataset_->size(); }
  Example get(int64_t i) const override;
  Keys keys() const override { return keys_; }

 private:
  TransformDataset(RandomTransform transform, DatasetRef dataset, std::optional<Keys> keys);

  DatasetRef dataset_;
  Keys keys_;
  Callable<Example(const Example&)> transform_;
  RandomTransform random_transform_;
};

}  // namespace kusari::datasets
