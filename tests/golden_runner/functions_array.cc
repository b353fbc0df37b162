#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/copy.h"
#include "kusari/framework/functions/array/diagonal.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/flip.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/hstack.h"
#include "kusari/framework/functions/array/index.h"
#include "kusari/framework/functions/array/pad.h"
#include "kusari/framework/functions/array/permutate.h"
#include "kusari/framework/functions/array/repeat.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/scatter_add.h"
#include "kusari/framework/functions/array/select_item.h"
#include "kusari/framework/functions/array/separate.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/squeeze.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/array/tile.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/transpose_sequence.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {
namespace {

std::optional<int64_t> optional_integer(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional<int64_t>(value.get<int64_t>());
}

Index index(Args& a, const Json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_array()) {
    const auto values = value.get<std::vector<int64_t>>();
    return array<int64_t>(values);
  }
  if (is_array_name(value)) return a.decode(value).array();
  if (value.contains("ellipsis")) return kEllipsis;
  if (value.contains("newaxis")) return kNewAxis;
  const Json& slice = value.at("slice");
  return Slice{optional_integer(slice.at(0)), optional_integer(slice.at(1)), optional_integer(slice.at(2))};
}

std::vector<Index> indices(Args& a) {
  std::vector<Index> all;
  const Json& slices = a.raw("slices");
  if (!slices.is_array()) return {index(a, slices)};
  for (const Json& value : slices) all.push_back(index(a, value));
  return all;
}

/// One number, one pair or a list of pairs.
PadWidth pad_width(const Json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.size() == 1 && value.at(0).is_number_integer()) return value.at(0).get<int64_t>();
  if (value.at(0).is_number_integer()) return {value.at(0).get<int64_t>(), value.at(1).get<int64_t>()};
  std::vector<PadWidth::Pair> pairs;
  for (const Json& pair : value) pairs.push_back({pair.at(0).get<int64_t>(), pair.at(1).get<int64_t>()});
  return PadWidth(std::span<const PadWidth::Pair>(pairs));
}

F::PadMode pad_mode(Args& a) {
  return a.choice<F::PadMode>("mode", {{"constant", F::PadMode::constant},
                                       {"edge", F::PadMode::edge},
                                       {"reflect", F::PadMode::reflect},
                                       {"symmetric", F::PadMode::symmetric},
                                       {"wrap", F::PadMode::wrap}});
}

/// One number; Chainer's pairs have no counterpart here.
double constant_values(Args& a) {
  const Json& value = a.keyword("constant_values");
  if (value.is_null()) return 0;
  if (!value.is_number())
    throw std::runtime_error("pad: argument constant_values=" + value.dump() + " is not a number");
  return value.get<double>();
}

/// The CPU, or a device by its name or number.
Device device(Args& a) {
  const Json& value = a.raw("dst");
  return get_device(value.is_string() ? value.get<std::string>() : std::to_string(a.integer("dst")));
}

}  // namespace

void add_array_functions(FunctionTable& table) {
  table.insert({
      {"broadcast", call([](Args& a) { return F::broadcast(a.more_vars()); })},
      {"broadcast_to", call([](Args& a) { return F::broadcast_to(a.var("x"), a.shape("shape")); })},
      {"cast", call([](Args& a) { return F::cast(a.var("x"), dtype_of(a.raw("typ"))); })},
      {"concat", call([](Args& a) { return F::concat(a.vars("xs"), a.integer("axis")); })},
      {"copy", call([](Args& a) { return F::copy(a.var("x"), device(a)); })},
      {"diagonal", call([](Args& a) {
         return F::diagonal(a.var("x"),
                            {.offset = a.integer("offset"), .axis1 = a.integer("axis1"), .axis2 = a.integer("axis2")});
       })},
      {"dstack", call([](Args& a) { return F::dstack(a.vars("xs")); })},
      {"expand_dims", call([](Args& a) { return F::expand_dims(a.var("x"), a.integer("axis")); })},
      {"flatten", unary(F::flatten)},
      {"flip", call([](Args& a) { return F::flip(a.var("x"), a.integer("axis")); })},
      {"fliplr", unary(F::fliplr)},
      {"flipud", unary(F::flipud)},
      {"get_item", call([](Args& a) { return F::get_item(a.var("x"), indices(a)); })},
      {"hstack", call([](Args& a) { return F::hstack(a.vars("xs")); })},
      {"moveaxis",
       call([](Args& a) { return F::moveaxis(a.var("x"), a.integers("source"), a.integers("destination")); })},
      {"pad", call([](Args& a) {
         return F::pad(a.var("x"), pad_width(a.raw("pad_width")), pad_mode(a), constant_values(a));
       })},
      {"permutate",
       call([](Args& a) { return F::permutate(a.var("x"), a.array("indices"), a.integer("axis"), a.flag("inv")); })},
      {"repeat", call([](Args& a) {
         const std::optional<int64_t> axis = a.optional_integer("axis");
         if (a.raw("repeats").is_number()) return F::repeat(a.var("x"), a.integer("repeats"), axis);
         return F::repeat(a.var("x"), a.integers("repeats"), axis);
       })},
      {"reshape", call([](Args& a) { return F::reshape(a.var("x"), a.shape("shape")); })},
      {"rollaxis", call([](Args& a) { return F::rollaxis(a.var("x"), a.integer("axis"), a.integer("start")); })},
      {"scatter_add", call([](Args& a) { return F::scatter_add(a.var("a"), indices(a), a.var("b")); })},
      {"select_item", binary(F::select_item, "x", "t")},
      {"separate", call([](Args& a) { return F::separate(a.var("x"), a.integer("axis")); })},
      {"split_axis", call([](Args& a) {
         const Variable x = a.var("x");
         const int64_t axis = a.integer("axis");
         a.flag("force_tuple");  // a result alone or in a list is the same here
         const Json& parts = a.raw("indices_or_sections");
         if (parts.is_number()) return F::split_axis(x, a.integer("indices_or_sections"), axis);
         if (is_array_name(parts)) return F::split_axis(x, a.array("indices_or_sections").to_vector<int64_t>(), axis);
         return F::split_axis(x, a.integers("indices_or_sections"), axis);
       })},
      {"squeeze", call([](Args& a) {
         const Variable x = a.var("x");
         return a.raw("axis").is_null() ? F::squeeze(x) : F::squeeze(x, a.integers("axis"));
       })},
      {"stack", call([](Args& a) { return F::stack(a.vars("xs"), a.integer("axis")); })},
      {"swapaxes", call([](Args& a) { return F::swapaxes(a.var("x"), a.integer("axis1"), a.integer("axis2")); })},
      {"tile", call([](Args& a) { return F::tile(a.var("x"), a.integers("reps")); })},
      {"transpose", call([](Args& a) {
         const Variable x = a.var("x");
         return a.raw("axes").is_null() ? F::transpose(x) : F::transpose(x, a.integers("axes"));
       })},
      {"transpose_sequence", call([](Args& a) { return F::transpose_sequence(a.vars("xs")); })},
      {"vstack", call([](Args& a) { return F::vstack(a.vars("xs")); })},
      {"where", call([](Args& a) { return F::where(a.var("condition"), a.var("x"), a.var("y")); })},
  });
}

}  // namespace kusari::golden
