#include <limits>
#include <memory>

#include "draw.h"

// Data sets, and what reads them.
namespace kusari::misuse_drawn {
namespace {

/// A data set of any size whose examples are all alike, or fail.
class Alike final : public datasets::Dataset {
 public:
  Alike(int64_t size, datasets::Example example, bool fails)
      : size_{size}, example_{std::move(example)}, fails_{fails} {}
  int64_t size() const override { return size_; }
  datasets::Example get(int64_t) const override {
    if (fails_) throw IoError("a data set's own error");
    return example_;
  }

 private:
  int64_t size_;
  datasets::Example example_;
  bool fails_;
};

class WrongSampler final : public iterators::OrderSampler {
 public:
  std::vector<int64_t> operator()(std::span<const int64_t>, int64_t) override { return {1, 2, 3}; }
};

}  // namespace

RandomState Draw::draw(As<RandomState>, const char* name) {
  const auto seed = make<uint64_t>(name);
  return {seed, make<uint64_t>("offset")};
}

datasets::DatasetRef Draw::draw(As<datasets::DatasetRef>, const char* name) {
  const int64_t size = nasty() ? integer(name, 0, std::numeric_limits<int64_t>::max()) : random_.between(0, 12);
  const bool fails = nasty();
  if (nasty()) return std::make_shared<Alike>(size, make<datasets::Example>(name), fails);
  note(name, "data set of " + std::to_string(size));
  return std::make_shared<Alike>(size, datasets::Example{ones({2, 3}), full({}, 1, Dtype::int32)}, fails);
}

datasets::Example Draw::draw(As<datasets::Example>, const char* name) {
  datasets::Example example;
  for (Array& array : make<std::vector<Array>>(name)) example.push_back(std::move(array));
  return example;
}

datasets::ExampleRandom Draw::draw(As<datasets::ExampleRandom>, const char* name) {
  return datasets::ExampleRandom(make<uint64_t>(name));
}

datasets::Column Draw::draw(As<datasets::Column>, const char* name) {
  if (random_.chance(0.5)) return make<Array>(name);
  return make<std::vector<Array>>(name);
}

datasets::ColumnSource Draw::draw(As<datasets::ColumnSource>, const char* name) {
  if (random_.chance(0.3)) {
    auto names = make<std::vector<std::string>>("names");
    return {std::move(names), make<Callable<datasets::Example(int64_t)>>(name)};
  }
  auto column = make<std::string>("names");
  return {std::move(column), make<datasets::Column>(name)};
}

datasets::RowSelection Draw::draw(As<datasets::RowSelection>, const char* name) {
  switch (random_.below(4)) {
    case 0:
      return {};
    case 1:
      return make<datasets::Range>(name);
    case 2:
      return make<std::vector<bool>>(name);
    default:
      return make<std::vector<int64_t>>(name);
  }
}

datasets::TabularView Draw::draw(As<datasets::TabularView>, const char* name) {
  note(name, "table");
  if (nasty()) {
    auto sources = make<std::vector<datasets::ColumnSource>>("sources");
    return datasets::from_data(std::move(sources), make<std::optional<int64_t>>("size"));
  }
  const int64_t rows = random_.between(0, 4);
  return datasets::from_data({{"ab", ones({rows, 2})}, {"max", zeros({rows}, Dtype::int32)}});
}

datasets::Padding Draw::draw(As<datasets::Padding>, const char* name) {
  switch (random_.below(3)) {
    case 0:
      return {};
    case 1:
      return make<double>(name);
    default:
      return make<std::vector<std::optional<Scalar>>>(name);
  }
}

datasets::transforms::Size Draw::draw(As<datasets::transforms::Size>, const char* name) {
  const auto height = make<int64_t>(name);
  return {height, make<int64_t>("width")};
}

datasets::transforms::Margins Draw::draw(As<datasets::transforms::Margins>, const char* name) {
  return make<int64_t>(name);
}

datasets::transforms::Window Draw::draw(As<datasets::transforms::Window>, const char* name) {
  const auto top = make<int64_t>(name), left = make<int64_t>("left");
  return {top, left, make<datasets::transforms::Size>("size")};
}

datasets::Converter Draw::draw(As<datasets::Converter>, const char* name) {
  const bool is_empty = nasty();
  note(name, is_empty ? "no converter" : "converter");
  return is_empty ? datasets::Converter() : datasets::concat_converter();
}

iterators::OrderSamplerRef Draw::draw(As<iterators::OrderSamplerRef>, const char* name) {
  const bool is_wrong = nasty();
  note(name, is_wrong ? "wrong sampler" : "sampler");
  if (is_wrong) return WrongSampler();
  return iterators::ShuffleOrderSampler(3);
}

}  // namespace kusari::misuse_drawn
