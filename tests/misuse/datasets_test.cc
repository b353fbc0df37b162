#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

using namespace datasets;

struct Endless final : Dataset {
  int64_t size() const override { return int64_t{1} << 62; }
  Example get(int64_t) const override { return {ones({2})}; }
};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose operator new ends the program
TEST_CASE("misuse: rows of images that memory has no room for") {
  CHECK_THROWS_WITH_AS(transforms::Normalize()(ones({1}).broadcast_to({1, 1, int64_t{1} << 45})),
                       "transforms::Normalize: 35184372088832 x 1 numbers of 4 bytes do not fit into the host's memory",
                       OutOfMemoryError);
}
#endif

TEST_CASE("misuse: datasets") {
  check_misuses({
      {[] { TupleDataset(ones({2}), ones({3})); }, is<ValueError>,
       "TupleDataset: array 1 has shape (3,) but array 0 has shape (2,): the first axes must be equal"},
      {[] { TupleDataset(Example{}); }, is<ValueError>, "TupleDataset: no arrays are given"},
      {[] { TupleDataset(ones({})); }, is<ValueError>,
       "TupleDataset: array 0 is a scalar: its first axis must count the examples"},
      {[] { ten_examples()[10]; }, is<IndexError>,
       "TupleDataset::get: index 10 is out of range: the data set has 10 examples"},
      {[] { ten_examples()[-11]; }, is<IndexError>,
       "TupleDataset::get: index -1 is out of range: the data set has 10 examples"},
      {[] {
         DictDataset({{"a", ones({2})}, {"a", ones({2})}});
       },
       is<ValueError>, "DictDataset: the key 'a' comes twice"},
      {[] {
         DictDataset({{"a", ones({2})}, {"b", ones({3})}});
       },
       is<ValueError>, "DictDataset: 'b' has shape (3,) but 'a' has shape (2,): the first axes must be equal"},
      {[] { DictDataset(std::vector<DictDataset::Column>{}); }, is<ValueError>, "DictDataset: no arrays are given"},
      {[] { JoinedDataset({}); }, is<ValueError>, "JoinedDataset: no data sets are given"},
      {[] { split_dataset(ten_examples(), -1); }, is<ValueError>,
       "split_dataset: split_at is -1: it must be 0 .. 10, the size of the data set"},
      {[] { split_dataset(ten_examples(), 11); }, is<ValueError>,
       "split_dataset: split_at is 11: it must be 0 .. 10, the size of the data set"},
      {[] {
         split_dataset(ten_examples(), 5, {0, 1});
       },
       is<ValueError>, "SubDataset: the order has 2 entries, but the data set has 10 examples"},
      {[] { split_dataset_n(ten_examples(), 0); }, is<ValueError>, "split_dataset_n: n is 0: it must be at least 1"},
      {[] { split_dataset_n(ten_examples(), -2); }, is<ValueError>, "split_dataset_n: n is -2: it must be at least 1"},
      {[] { get_cross_validation_datasets(ten_examples(), 0); }, is<ValueError>,
       "get_cross_validation_datasets: n_folds is 0: it must be 1 .. 10, the size of the data set"},
      {[] { get_cross_validation_datasets(ten_examples(), 11); }, is<ValueError>,
       "get_cross_validation_datasets: n_folds is 11: it must be 1 .. 10, the size of the data set"},
      {[] { split_dataset_n(ten_examples(), int64_t{1} << 62); }, is<OutOfMemoryError>,
       "split_dataset_n: the host's memory is exhausted"},
      {[] { split_dataset_random(Endless(), 5); }, is<OutOfMemoryError>,
       "random::permutation: 4611686018427387904 numbers of 8 bytes do not fit into the host's memory"},
      {[] { split_dataset_n_random(Endless(), 3, 1); }, is<OutOfMemoryError>,
       "random::permutation: 4611686018427387904 numbers of 8 bytes do not fit into the host's memory"},
      {[] { get_cross_validation_datasets(Endless(), 3); }, is<OutOfMemoryError>,
       "get_cross_validation_datasets: 4611686018427387904 numbers of 8 bytes do not fit into the host's memory"},
      {[] {
         datasets::ExampleRandom random(1);
         transforms::RandomBoxCrop()({ones({3, 8, 8}), {Box{0, 0, 4, 4}}, {}}, random);
       },
       is<ValueError>, "transforms: the image has 1 boxes but index has 0: it must have one for each"},
      {[] { Endless().slice({}); }, is<OutOfMemoryError>,
       "Dataset::slice: 4611686018427387904 numbers of 8 bytes do not fit into the host's memory"},
      {[] {
         ImageDataset({"a.png", "b.png"}).name(2);
       },
       is<IndexError>, "ImageDataset::name: index 2 is out of range: the data set has 2 examples"},
      {[] {
         const LabeledImageDataset images({{"a.png", 0}});
         images.name(-1);
       },
       is<IndexError>, "LabeledImageDataset::name: index -1 is out of range: the data set has 1 examples"},
      {[] { SubDataset(ten_examples(), 5, 2); }, is<ValueError>,
       "SubDataset: examples 5 .. 2 are asked for, but the data set has 10"},
      {[] { SubDataset(ten_examples(), 0, 99); }, is<ValueError>,
       "SubDataset: examples 0 .. 99 are asked for, but the data set has 10"},
      {[] { SubDataset(ten_examples(), -1, 2); }, is<ValueError>,
       "SubDataset: examples -1 .. 2 are asked for, but the data set has 10"},
      {[] { concat_examples(std::vector<Example>{}); }, is<ValueError>, "concat_examples: the batch is empty"},
      {[] {
         concat_examples(std::vector<Example>{{ones({2})}, {ones({3})}});
       },
       is<TypeError>,
       "concat_examples: example 1, component 0 has shape (3,) but example 0 has shape (2,): give a padding to combine "
       "different shapes"},
      {[] {
         concat_examples(std::vector<Example>{{ones({2})}, {ones({2}), ones({2})}});
       },
       is<TypeError>, "concat_examples: example 1 has 2 components but example 0 has 1"},
      {[] {
         concat_examples(std::vector<Example>{{ones({2})}, {ones({2}, Dtype::float64)}});
       },
       is<TypeError>, "concat_examples: example 1, component 0 has dtype float64 but example 0 has float32"},
      {[] { concat_examples(std::vector<Example>{{Array()}}); }, is<TypeError>,
       "concat_examples: example 0, component 0 is an undefined array"},
  });
}

}  // namespace
}  // namespace kusari::misuse
