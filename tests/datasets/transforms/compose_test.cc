#include "kusari/framework/datasets/transforms/compose.h"

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/framework/datasets/transforms/crop.h"
#include "kusari/framework/datasets/transforms/flip.h"
#include "kusari/framework/datasets/transforms/normalize.h"
#include "kusari/framework/datasets/transforms/pad.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::datasets;
using namespace kusari::transforms;
using namespace kusari::testing;

TEST_CASE("Compose calls its steps in order") {
  const Array image = pixels(3, 4, 5, Dtype::uint8);
  const Compose fixed{Pad{1}, Flip{}, [](const Array& x) { return x.slice(1, 0, 2); }};
  static_assert(FixedTransform<decltype(fixed)> && RandomTransform<decltype(fixed)>);
  CHECK(fixed(image).to_vector<int>() == Flip{}(Pad{1}(image)).slice(1, 0, 2).to_vector<int>());

  const Compose augment{Pad{2}, RandomCrop{4}, RandomFlip{}};
  static_assert(!FixedTransform<decltype(augment)> && RandomTransform<decltype(augment)>);
  ExampleRandom random(1, 2, 3), same(1, 2, 3);
  const Array y = augment(image, random);
  CHECK(y.shape() == Shape{3, 4, 4});
  const Array cropped = RandomCrop{4}(Pad{2}(image), same);
  CHECK(y.to_vector<int>() == RandomFlip{}(cropped, same).to_vector<int>());

  // A Compose is a step like any other.
  ExampleRandom third(1, 2, 3);
  CHECK(Compose{augment, Normalize{}}(image, third).to_vector<int>() == y.to_vector<int>());
}

TEST_CASE("on_image changes one component of the examples of a data set") {
  const Array images = arange(2 * 3 * 4 * 4, Dtype::uint8).reshape({2, 3, 4, 4}), labels = arange(2, Dtype::int32);
  const TransformDataset dataset(TupleDataset(images, labels), on_image(Pad{1}, RandomCrop{4}, RandomFlip{}));
  random::seed(1);
  const Example first = dataset[1];
  CHECK(first[0].shape() == Shape{3, 4, 4});
  CHECK(first[0].dtype() == Dtype::uint8);
  CHECK(has_pixel_rows(first[0]));
  CHECK(first[1].item<int>() == 1);
  random::seed(1);
  CHECK(dataset[1][0].to_vector<int>() == first[0].to_vector<int>());
  int different = 0;
  for (int i = 0; i < 20; ++i) different += dataset[1][0].to_vector<int>() != first[0].to_vector<int>();
  CHECK(different > 10);

  const TransformDataset second(TupleDataset(labels, images), on_image<1>(CenterCrop{2}));
  CHECK(second[0][1].shape() == Shape{3, 2, 2});
  CHECK(second[0][0].item<int>() == 0);
  const TransformDataset missing(TupleDataset(images), on_image<1>(CenterCrop{2}));
  CHECK_THROWS_WITH_AS(missing[0], "transforms::on_image: component 1 of an example that has 1", ValueError);
}
