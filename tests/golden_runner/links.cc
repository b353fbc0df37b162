#include "kusari/tests/golden_runner/links.h"

#include "kusari/framework/core/config.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/initializers.h"

namespace kusari::golden {

const LinkTable& link_table() {
  static const LinkTable table = [] {
    LinkTable all;
    add_activation_links(all);
    add_batch_normalization_links(all);
    add_connection_links(all);
    add_convolution_links(all);
    add_loss_links(all);
    add_model_links(all);
    add_normalization_links(all);
    add_rnn_links(all);
    add_sampling_links(all);
    return all;
  }();
  return table;
}

LinkUnderTest make_link(const std::string& name, const Json& ctor, const Inputs& inputs, const std::string& note) {
  const auto factory = link_table().find(name);
  if (factory == link_table().end()) throw Unsupported("link " + name);
  LinkArgs args(signature_of("link", name), ctor, inputs, note);
  LinkUnderTest made = factory->second(args);
  args.check_all_used();
  return made;
}

std::function<Variable(const Variable&)> activation_argument(Args& args, const std::string& name) {
  const auto function = function_argument(args, name);
  return [function](const Variable& x) { return function(Variables(x)); };
}

namespace {

// The numbers in nested lists, and the shape that they have.
void flatten_lists(const Json& value, int depth, Shape& shape, std::vector<double>& numbers) {
  if (!value.is_array()) {
    numbers.push_back(value.get<double>());
    return;
  }
  const auto size = static_cast<int64_t>(value.size());
  if (depth == shape.ndim()) shape.push_back(size);
  if (shape[depth] != size) throw std::runtime_error("lists of different sizes are no array: " + value.dump());
  for (const Json& one : value) flatten_lists(one, depth + 1, shape, numbers);
}

Shape shape_of_list(const Json& list) {
  const auto sizes = list.get<std::vector<int64_t>>();
  return Shape(sizes.begin(), sizes.end());
}

}  // namespace

Initializer initializer_argument(Args& args, const std::string& name, const Initializer& otherwise) {
  const Json& value = args.raw(name);
  const Dtype dtype = config().dtype.get().dtype();
  if (value.is_null()) return otherwise;
  if (value.is_number()) return value.get<double>();
  if (is_array_name(value)) return args.decode(value).array();
  if (value.is_array()) {
    Shape shape;
    std::vector<double> numbers;
    flatten_lists(value, 0, shape, numbers);
    return kusari::array<double>(numbers, shape).astype(dtype);
  }
  if (value.is_object() && value.contains("zeros")) return zeros(shape_of_list(value.at("zeros")), dtype);
  if (value.is_object() && value.contains("ones")) return ones(shape_of_list(value.at("ones")), dtype);
  if (value.is_object() && value.contains("initializer")) {
    return make_initializer(value.at("initializer"), value.value("ctor", Json::object()));
  }
  args.fail(name, "does not say how a parameter starts");
}

}  // namespace kusari::golden
