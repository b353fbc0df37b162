#include "draw.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace kusari::misuse_drawn {
namespace {

constexpr int64_t kHuge[] = {int64_t{1} << 31,
                             (int64_t{1} << 31) + 1,
                             int64_t{1} << 32,
                             int64_t{1} << 33,
                             int64_t{1} << 40,
                             int64_t{1} << 62,
                             std::numeric_limits<int64_t>::max()};
constexpr double kReals[] = {std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             0.0,
                             -0.0,
                             -1.0,
                             1e-320,
                             1e308,
                             -1e308,
                             3e38,
                             1e18,
                             1e6,
                             0.3};

double saturated_size(const Shape& shape) {
  double n = 1;
  for (const int64_t size : shape) n *= static_cast<double>(size);
  return n;
}

std::string text_of(const Array& array) {
  if (!array.is_defined()) return "undefined";
  std::string text = std::string(name(array.dtype())) + to_string(array.shape());
  if (!array.is_contiguous()) text += " strides " + to_string(array.strides());
  return text;
}

}  // namespace

void Progress::add(std::string_view more) noexcept {
  const size_t n = std::min(more.size(), kTextSize - 1 - length);
  std::memcpy(text + length, more.data(), n);
  length += n;
  text[length] = '\0';
}

Draw::Draw(const char* call, uint64_t seed, Progress& progress, Layouts layouts)
    : random_{seed}, plan_{call, random_}, progress_{progress}, layouts_{layouts} {}

void Draw::note(const char* name, std::string_view text) {
  progress_.add(" ");
  progress_.add(name);
  progress_.add("=");
  progress_.add(text);
}

void Draw::next(const char* method) {
  progress_.add("; ");
  progress_.add(method);
}

int Draw::weighted(std::initializer_list<int> weights) {
  int sum = 0;
  for (const int weight : weights) sum += weight;
  int64_t at = random_.between(0, sum - 1);
  int i = 0;
  for (const int weight : weights) {
    if (at < weight) return i;
    at -= weight;
    ++i;
  }
  return i;
}

int64_t Draw::integer(const char* name, int64_t lowest, int64_t highest) {
  int64_t value = plan_.integer_of(name, random_);
  if (nasty()) {
    switch (random_.below(4)) {
      case 0:
        value = random_.of<int64_t>({0, -1, 1, 2, -2, -3, 7, 100, 1000, 65536, 1000000});
        break;
      case 1:
        value = kHuge[random_.below(std::size(kHuge))];
        break;
      case 2:
        value = -kHuge[random_.below(std::size(kHuge))] - static_cast<int64_t>(random_.below(2));
        break;
      default:
        value = random_.between(-10, 30);
    }
  }
  // More than that may be asked for, but takes its time.
  if (const std::string_view ahead = name; ahead == "n_prefetch" || ahead == "ahead") {
    value = value <= 65536 ? std::min<int64_t>(value, 100) : value;
  }
  value = std::clamp(value, lowest, highest);
  note(name, std::to_string(value));
  return value;
}

double Draw::draw(As<double>, const char* name) {
  double value = random_.of({0.5, 1.0, 2.0, 0.1, 0.25, 1e-3, 0.9});
  if (nasty()) value = kReals[random_.below(std::size(kReals))];
  note(name, std::to_string(value));
  return value;
}

bool Draw::draw(As<bool>, const char* name) {
  const bool value = random_.chance(0.5);
  note(name, value ? "true" : "false");
  return value;
}

Scalar Draw::draw(As<Scalar>, const char* name) {
  if (random_.chance(0.5)) return make<int64_t>(name);
  return make<double>(name);
}

Dtype Draw::draw(As<Dtype>, const char* name) {
  const auto dtype = random_.chance(0.6) ? plan_.real : static_cast<Dtype>(random_.below(kDtypeCount));
  note(name, kusari::name(dtype));
  return dtype;
}

Device Draw::draw(As<Device>, const char*) { return Device(); }

std::string Draw::draw(As<std::string>, const char* name) {
  std::string text = random_.of({"max", "avg", "ij,jk->ik", "ij,ij->", "ii->i", "...i->...", "i,i", "ab"});
  if (nasty()) {
    text =
        random_.of({"", "none", "->", "ij->ijk", "i->ii", "...", "....", "a,b,c,d,e,f", ",", "i j", "\xff\xfe", "1"});
    if (random_.chance(0.1)) text = std::string(10000, 'i');
  }
  note(name, text.substr(0, 40));
  return text;
}

Dims Draw::draw(As<Dims>, const char* name) {
  Dims dims = plan_.dims_of(name, random_);
  if (nasty()) {
    dims = {};
    const auto ndim = random_.chance(0.1) ? kMaxNdim : static_cast<int>(random_.below(5));
    for (int i = 0; i < ndim; ++i) {
      dims.push_back(random_.chance(0.6)   ? random_.between(0, 5)
                     : random_.chance(0.5) ? kHuge[random_.below(std::size(kHuge))]
                                           : random_.of<int64_t>({-1, -2, -kHuge[0], -kHuge[5], 65536, 0}));
    }
  }
  note(name, to_string(dims));
  return dims;
}

Axes Draw::draw(As<Axes>, const char* name) {
  if (random_.chance(0.3)) return std::nullopt;
  const std::vector<int64_t> axes = make<std::vector<int64_t>>(name);
  if (axes.size() > kMaxNdim) return std::nullopt;
  return Axes(std::span<const int64_t>(axes));
}

PerAxis Draw::draw(As<PerAxis>, const char* name) {
  const std::string argument = name;
  Dims values = argument == "stride"    ? plan_.stride
                : argument == "pad"     ? plan_.pad
                : argument == "pad_end" ? plan_.pad
                : argument == "dilate"  ? plan_.dilate
                : argument == "ksize"   ? plan_.ksize
                                        : plan_.spatial;
  if (nasty()) values = make<Dims>(name);
  if (nasty()) return PerAxis(integer(name, INT64_MIN, INT64_MAX));
  if (std::all_of(values.begin(), values.end(), [&](int64_t value) { return value == values.front(); }) &&
      !values.empty()) {
    values = Dims{values[0]};
  }
  note(name, to_string(values));
  return PerAxis(values);
}

PadWidth Draw::draw(As<PadWidth>, const char* name) {
  if (random_.chance(0.4)) return PadWidth(make<int64_t>(name));
  std::vector<std::pair<int64_t, int64_t>> pairs;
  const int count = random_.chance(0.8) ? plan_.x.ndim() : static_cast<int>(random_.below(12));
  for (int i = 0; i < count; ++i) pairs.push_back(make<std::pair<int64_t, int64_t>>(name));
  return PadWidth(std::span<const PadWidth::Pair>(pairs));
}

Index Draw::draw(As<Index>, const char* name) {
  switch (random_.below(6)) {
    case 0:
      note(name, "new axis");
      return kNewAxis;
    case 1:
      note(name, "...");
      return kEllipsis;
    case 2:
      return make<int64_t>(name);
    case 3: {
      Array places = plain_array({random_.between(0, 3)}, plan_.label, 2);
      if (nasty()) places = nasty_array(places.shape(), plan_.label, 2);
      note(name, text_of(places));
      return places;
    }
    default:
      return make<Slice>(name);
  }
}

distributions::ParameterValue Draw::draw(As<distributions::ParameterValue>, const char* name) {
  if (random_.chance(0.3)) return make<double>(name);
  return make<Variable>(name);
}

Initializer Draw::draw(As<Initializer>, const char* name) {
  const auto kind = random_.below(nasty() ? 14 : 5);
  note(name, "initializer " + std::to_string(kind));
  switch (kind) {
    case 0:
      return {};
    case 1:
      return 0.5;
    case 2:
      return initializers::Normal(0.1);
    case 3:
      return initializers::HeNormal();
    case 4:
      return initializers::GlorotUniform();
    case 5:
      return initializers::Orthogonal(1.1, make<initializers::OrthogonalMode>("mode"));
    case 6:
      return initializers::Identity();
    case 7:
      return initializers::UpsamplingDeconvFilter();
    case 8:
      return initializers::DownsamplingConvFilter();
    case 9:
      return make<Array>(name);
    case 10:
      return make<double>(name);
    case 11:
      return initializers::Normal(make<double>("scale"), make<Dtype>("dtype"));
    case 12:
      return [](const Array&) { throw ValueError("an initializer's own error"); };
    default:
      return initializers::Uniform(make<double>("scale"));
  }
}

functions::TensordotAxes Draw::draw(As<functions::TensordotAxes>, const char* name) {
  if (random_.chance(0.5)) return {make<int64_t>(name)};
  auto a = make<std::vector<int64_t>>("axes");
  return {std::move(a), make<std::vector<int64_t>>("axes")};
}

functions::Sampler Draw::draw(As<functions::Sampler>, const char* name) {
  const auto kind = nasty() ? random_.below(6) : 0;
  note(name, "sampler " + std::to_string(kind));
  const int64_t classes = plan_.classes;
  switch (kind) {
    case 0:
      return [classes](const Shape& shape) {
        const Array samples = zeros(shape, Dtype::int32);
        samples.fill(classes - 1);
        return samples;
      };
    case 1:
      return [](const Shape&) { return Array(); };
    case 2:
      return [](const Shape&) { return ones({3}, Dtype::int32); };
    case 3:
      return [](const Shape& shape) { return full(shape, -7, Dtype::int32); };
    case 4:
      return [](const Shape& shape) { return ones(shape); };
    default:
      return nullptr;
  }
}

Callable<void(const Array&)> Draw::draw(As<Callable<void(const Array&)>>, const char* name) {
  const bool is_given = random_.chance(0.8);
  note(name, is_given ? "function" : "none");
  if (!is_given) return nullptr;
  return [](const Array& array) { static_cast<void>(array.size()); };
}

Callable<bool(int64_t)> Draw::draw(As<Callable<bool(int64_t)>>, const char* name) {
  const auto kind = random_.below(3);
  note(name, "function " + std::to_string(kind));
  if (kind == 0) return nullptr;
  return [answer = kind == 1](int64_t) { return answer; };
}

Callable<Variable(const Variable&)> Draw::draw(As<Callable<Variable(const Variable&)>>, const char* name) {
  const auto kind = nasty() ? random_.below(5) : 0;
  note(name, "function " + std::to_string(kind));
  switch (kind) {
    case 0:
      return [](const Variable& x) { return functions::relu(x); };
    case 1:
      return nullptr;
    case 2:
      return [](const Variable&) { return Variable(); };
    case 3:
      return [](const Variable& x) { return functions::sum(x); };
    default:
      return [](const Variable&) -> Variable { throw ValueError("a function's own error"); };
  }
}

utils::CooMatrix Draw::draw(As<utils::CooMatrix>, const char* name) {
  note(name, "coo");
  const int64_t m = plan_.channels, n = plan_.channels;
  const Variable data = make<Variable>("data");
  const int64_t count = data.is_defined() && data.array().is_defined() && data.ndim() > 0 ? data.shape()[0] : 1;
  Array row = plain_array({std::min<int64_t>(count, 1000)}, Dtype::int32, m),
        column = plain_array({std::min<int64_t>(count, 1000)}, Dtype::int32, n);
  if (nasty()) row = make<Array>("row");
  if (nasty()) column = make<Array>("col");
  Shape shape{m, n};
  if (nasty()) shape = make<Dims>("shape");
  return utils::CooMatrix(data, row, column, shape);
}

// Mostly sequences that could be.
PackedSequence Draw::draw(As<PackedSequence>, const char* name) {
  note(name, "packed");
  const Variable data = make<Variable>("data");
  const int64_t rows = data.is_defined() && data.ndim() > 0 ? data.shape()[0] : 0;
  if (nasty() || rows > 1000)
    return PackedSequence(data, make<std::vector<int64_t>>("batch_sizes"), make<std::vector<int64_t>>("order"));
  std::vector<int64_t> order(static_cast<size_t>(rows - rows / 2));
  std::iota(order.rbegin(), order.rend(), int64_t{0});
  return PackedSequence(data, {rows - rows / 2, rows / 2}, order);
}

links::BinaryTree Draw::draw(As<links::BinaryTree>, const char* name) {
  note(name, "tree");
  links::BinaryTree tree(0);
  for (int64_t word = 1; word <= plan_.classes; ++word)
    tree = links::BinaryTree(tree, nasty() ? make<int64_t>("word") : word);
  return tree;
}

links::AnchorGrid Draw::draw(As<links::AnchorGrid>, const char* name) {
  const auto kind = random_.below(3);
  note(name, "grid " + std::to_string(kind));
  if (kind == 0) return links::AnchorGrid();
  if (kind == 1) return links::AnchorGrid::rpn();
  return links::AnchorGrid({.levels = {2}, .octaves = 1, .ratios = {1}});
}

links::ConvolutionND Draw::draw(As<links::ConvolutionND>, const char*) {
  const auto ndim = static_cast<int>(1 + random_.below(3));
  const auto some = [&](uint64_t most) { return 1 + static_cast<int64_t>(random_.below(most)); };
  const int64_t in_channels = random_.chance(0.5) ? kInfer : some(8);
  return links::ConvolutionND(ndim, in_channels, some(8), some(4));
}

links::Linear Draw::draw(As<links::Linear>, const char*) {
  const int64_t in_size = random_.chance(0.5) ? kInfer : plan_.channels;
  return links::Linear(in_size, 1 + static_cast<int64_t>(random_.below(8)), {.nobias = random_.chance(0.5)});
}

links::AnchorCoder Draw::draw(As<links::AnchorCoder>, const char* name) {
  const links::AnchorGrid grid = make<links::AnchorGrid>(name);
  return links::AnchorCoder(grid, 1 + static_cast<int64_t>(random_.below(64)),
                            1 + static_cast<int64_t>(random_.below(64)));
}

links::FasterRCNN::FirstLook Draw::draw(As<links::FasterRCNN::FirstLook>, const char*) {
  Variables maps;
  for (const Variable& map : make<std::vector<Variable>>("maps")) maps.push_back(map);
  const Variable locs = make<Variable>("locs");
  return {std::move(maps), locs, make<Variable>("confs")};
}

std::shared_ptr<const links::StatisticsExchange> Draw::draw(As<std::shared_ptr<const links::StatisticsExchange>>,
                                                            const char* name) {
  const bool is_given = random_.chance(0.5);
  note(name, is_given ? "of one rank" : "none");
  if (!is_given) return nullptr;
  return std::make_shared<const distributed::CommunicatorStatistics>(distributed::Communicator());
}

Array* Draw::draw(As<Array*>, const char* name) {
  if (random_.chance(0.3)) return nullptr;
  return kept(std::make_shared<Array>(random_.chance(0.7) ? Array() : make<Array>(name)));
}

KVCache* Draw::draw(As<KVCache*>, const char* name) {
  if (random_.chance(0.5)) return nullptr;
  const auto layers = static_cast<int64_t>(random_.below(3)) + 1, places = static_cast<int64_t>(random_.below(4)) + 1;
  note(name, "cache of " + std::to_string(layers) + " layers and " + std::to_string(places) + " places");
  return kept(std::make_shared<KVCache>(layers, places));
}

KVCacheLayer* Draw::draw(As<KVCacheLayer*>, const char* name) {
  KVCache* cache = make<KVCache*>(name);
  return cache == nullptr ? nullptr : &cache->layer(0);
}

// --- arrays ---------------------------------------------------------------------------------------------------------

Array Draw::plain_array(const Shape& shape, Dtype dtype, int64_t integers_below) {
  const auto size = static_cast<size_t>(numel(shape));
  const Array array = empty(shape, dtype);
  if (is_floating(dtype)) {
    std::vector<double> values(size);
    for (double& value : values) value = random_.real() * 4 - 2;
    if (size > 0 && nasty()) values[random_.below(size)] = kReals[random_.below(std::size(kReals))];
    array.copy_from(kusari::array<double>(values, shape));
  } else {
    std::vector<int64_t> values(size);
    for (int64_t& value : values) value = random_.between(0, std::max<int64_t>(integers_below - 1, 0));
    if (size > 0 && nasty()) {
      values[random_.below(size)] =
          random_.of<int64_t>({-1, -2, integers_below, 1000, kHuge[0], -kHuge[0], kHuge[6], -kHuge[6] - 1});
    }
    array.copy_from(kusari::array<int64_t>(values, shape));
  }
  return array;
}

// The same elements in another order of memory.
Array Draw::laid_out(const Array& array) {
  const int ndim = array.ndim();
  if (ndim == 0 || array.size() > (1 << 20)) return array;
  const auto axis = static_cast<int>(random_.below(static_cast<uint64_t>(ndim)));
  switch (random_.below(8)) {
    case 0: {
      std::vector<int64_t> axes;
      for (int64_t i = 0; i < ndim; ++i) axes.push_back((i + 1) % ndim);
      std::vector<int64_t> back(axes.size());
      for (size_t i = 0; i < axes.size(); ++i) back[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
      return array.transpose(axes).copy().contiguous().transpose(back);
    }
    case 1: {
      Shape shape = array.shape();
      const int64_t size = shape[axis];
      shape[axis] = 2 * size + 1;
      Array spread = zeros(shape, array.dtype());
      spread = random_.chance(0.5) ? spread.slice(axis, 1, size, 2) : spread.slice(axis, 2 * size, size, -1);
      spread.copy_from(array);
      return spread;
    }
    case 2:
      return array.channels_last();
    case 3:
      return array.shape()[axis] > 0 ? array.slice(axis, 0, 1).broadcast_to(array.shape()) : array;
    default:
      return array;
  }
}

Array Draw::nasty_array(const Shape& shape, Dtype dtype, int64_t integers_below) {
  Shape other;
  switch (random_.below(12)) {
    case 0:
    case 1:
      return {};
    case 2:
      return plain_array({}, dtype, integers_below);
    case 3:  // other sizes
      for (const int64_t size : shape) other.push_back(random_.chance(0.5) ? size : random_.between(0, 6));
      return plain_array(other, dtype, integers_below);
    case 4: {  // another number of axes
      const auto ndim = random_.below(kMaxNdim + 1);
      for (uint64_t i = 0; i < ndim; ++i) other.push_back(random_.between(0, 3));
      return plain_array(other, dtype, integers_below);
    }
    case 5:  // no elements
      for (const int64_t size : shape) other.push_back(random_.chance(0.5) ? size : 0);
      return plain_array(other, dtype, integers_below);
    case 6:
    case 7:
      return plain_array(shape, static_cast<Dtype>(random_.below(kDtypeCount)), integers_below);
    case 8:  // all the same extreme
      return is_floating(dtype) ? full(shape, kReals[random_.below(std::size(kReals))], dtype)
                                : full(shape, kHuge[random_.below(std::size(kHuge))], dtype);
    default: {  // huge
      Shape single, huge;
      const int ndim = std::max(shape.ndim(), 1);
      const auto at = static_cast<int>(random_.below(static_cast<uint64_t>(ndim)));
      for (int i = 0; i < ndim; ++i) {
        const int64_t size = i < shape.ndim() ? shape[i] : 1;
        huge.push_back(i == at || random_.chance(0.2) ? kHuge[random_.below(std::size(kHuge))]
                       : random_.chance(0.1)          ? 0
                                                      : size);
        single.push_back(1);
      }
      const bool is_empty = std::find(huge.begin(), huge.end(), 0) != huge.end();
      if (is_empty && random_.chance(0.5)) return zeros(huge, dtype);
      return plain_array(single, dtype, integers_below).broadcast_to(huge);
    }
  }
}

Array Draw::array_of(const char* name) {
  const Shape shape = plan_.shape_of(name, random_);
  const Dtype dtype = plan_.dtype_of(name, random_);
  const int64_t below =
      plan_.calls({"permut"}) || std::string_view(name) == "roi_indices" ? plan_.batch : plan_.classes;
  Array array = nasty() ? nasty_array(shape, dtype, below) : plain_array(shape, dtype, below);
  if (plan_.calls({"permut"}) && array.is_defined() && array.ndim() == 1 && is_integral(array.dtype()) &&
      array.size() < 100) {
    array = arange(array.size(), dtype);
  }
  if (array.is_defined()) {
    array = laid_out(array);
    if (!array.is_contiguous()) {
      has_gaps_ = true;
      if (layouts_ == Layouts::dense && saturated_size(array.shape()) < 1e6) array = array.contiguous();
    }
    const double size = saturated_size(array.shape());
    progress_.elements =
        std::max(progress_.elements, size > 9e18 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(size));
  }
  return array;
}

Array Draw::draw(As<Array>, const char* name) {
  const Array array = array_of(name);
  note(name, text_of(array));
  return array;
}

Variable Draw::draw(As<Variable>, const char* name) {
  const Array array = array_of(name);
  if (!array.is_defined()) {
    if (random_.chance(0.7)) {
      note(name, "undefined");
      return {};
    }
    note(name, "without array");
    return Variable(Array(), true);
  }
  const bool requires_grad = array.is_floating() ? random_.chance(0.7) : false;
  Variable variable(array, requires_grad);
  note(name, text_of(array) + (requires_grad ? " grad" : ""));
  if (requires_grad) leaves_.push_back(variable);
  if (requires_grad && array.size() < 1000 && random_.chance(0.2)) return functions::identity(variable);
  return variable;
}

// --- results --------------------------------------------------------------------------------------------------------

void Draw::use(const Array& y) {
  if (!y.is_defined() || y.size() > (1 << 22)) return;
  results_.push_back({y.shape(), y.dtype(), y.to_vector<double>()});
}

void Draw::use(const Variable& y) {
  if (!y.is_defined() || !y.array().is_defined()) return;
  use(y.array());
  if (y.size() > (1 << 22) || !is_floating(y.dtype()) || !y.requires_grad() || random_.chance(0.3)) return;
  const bool is_double = random_.chance(0.4);
  progress_.add(is_double ? " backward twice" : " backward");
  functions::sum(y * y).backward({.enable_double_backprop = is_double});
  for (const Variable& leaf : leaves_) {
    const Variable gradient = leaf.grad_var();
    if (!gradient.is_defined()) continue;
    use(gradient.array());
    if (is_double && gradient.requires_grad() && gradient.size() < (1 << 22)) {
      progress_.add(" again");
      functions::sum(gradient * gradient).backward();
    }
  }
}

}  // namespace kusari::misuse_drawn
