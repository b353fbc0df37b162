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
  if (is_array_name(value)) return a.decode(value).array();
  if (value.contains("ellipsis")) return kEllipsis;
  if (value.contains("newaxis")) return kNewAxis;
  const Json& slice = value.at("slice");
  return Slice{optional_integer(slice.at(0)), optional_integer(slice.at(1)), optional_integer(slice.at(2))};
}

std::vector<Index> indices(Args& a) {
  std::vector<Index> all;
  for (const Json& value : a.raw("slices")) all.push_back(index(a, value));
  return all;
}

/// One number, one pair or a list of pairs.
PadWidth pad_width(const Json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.at(0).is_number_integer()) return {value.at(0).get<int64_t>(), value.at(1).get<int64_t>()};
  std::vector<PadWidth::Pair> pairs;
  for (const Json& pair : value) pairs.push_back({pair.at(0).get<int64_t>(), pair.at(1).get<int64_t>()});
  return PadWidth(std::span<const PadWidth::Pair>(pairs));
}

F::PadMode pad_mode(const std::string& name) {
  if (name == "constant") return F::PadMode::constant;
  if (name == "edge") return F::PadMode::edge;
  if (name == "reflect") return F::PadMode::reflect;
  if (name == "symmetric") return F::PadMode::symmetric;
  if (name == "wrap") return F::PadMode::wrap;
  throw std::runtime_error("mode=" + name);
}

}  // namespace

void add_array_functions(FunctionTable& table) {
  table.insert({
      {"broadcast", call([](Args& a) { return F::broadcast(a.positional_vars()); })},
      {"broadcast_to", call([](Args& a) { return F::broadcast_to(a.var("x"), a.shape("shape")); })},
      {"cast", call([](Args& a) { return F::cast(a.var("x"), dtype_from_name(a.text("typ", ""))); })},
      {"concat", call([](Args& a) { return F::concat(a.vars("xs"), a.integer("axis", 1)); })},
      {"copy", call([](Args& a) {  // dst -1 is the CPU
         return F::copy(a.var("x"), get_device(std::to_string(a.integer("dst", -1))));
       })},
      {"diagonal", call([](Args& a) {
         return F::diagonal(
             a.var("x"),
             {.offset = a.integer("offset", 0), .axis1 = a.integer("axis1", 0), .axis2 = a.integer("axis2", 1)});
       })},
      {"dstack", call([](Args& a) { return F::dstack(a.vars("xs")); })},
      {"expand_dims", call([](Args& a) { return F::expand_dims(a.var("x"), a.integer("axis", 0)); })},
      {"flatten", unary(F::flatten)},
      {"flip", call([](Args& a) { return F::flip(a.var("x"), a.integer("axis", 0)); })},
      {"fliplr", unary(F::fliplr)},
      {"flipud", unary(F::flipud)},
      {"get_item", call([](Args& a) { return F::get_item(a.var("x"), indices(a)); })},
      {"hstack", call([](Args& a) { return F::hstack(a.vars("xs")); })},
      {"moveaxis",
       call([](Args& a) { return F::moveaxis(a.var("x"), a.integers("source"), a.integers("destination")); })},
      {"pad", call([](Args& a) {
         return F::pad(a.var("x"), pad_width(a.raw("pad_width")), pad_mode(a.text("mode", "constant")),
                       a.number("constant_values", 0));
       })},
      {"permutate", call([](Args& a) {
         return F::permutate(a.var("x"), a.array("indices"), a.integer("axis", 0), a.flag("inv", false));
       })},
      {"repeat",
       call([](Args& a) { return F::repeat(a.var("x"), a.integers("repeats"), a.optional_integer("axis")); })},
      {"reshape", call([](Args& a) { return F::reshape(a.var("x"), a.shape("shape")); })},
      {"rollaxis", call([](Args& a) { return F::rollaxis(a.var("x"), a.integer("axis", 0), a.integer("start", 0)); })},
      {"scatter_add", call([](Args& a) { return F::scatter_add(a.var("a"), indices(a), a.var("b")); })},
      {"select_item", binary(F::select_item, "x", "t")},
      {"separate", call([](Args& a) { return F::separate(a.var("x"), a.integer("axis", 0)); })},
      {"split_axis", call([](Args& a) {
         const Variable x = a.var("x");
         const int64_t axis = a.integer("axis", 0);
         if (a.flag("force_tuple", true) && a.raw("indices_or_sections").is_number()) {
           return F::split_axis(x, a.integer("indices_or_sections", 1), axis);
         }
         return F::split_axis(x, a.integers("indices_or_sections"), axis);
       })},
      {"squeeze", call([](Args& a) {
         const Variable x = a.var("x");
         return a.has("axis") ? F::squeeze(x, a.integers("axis")) : F::squeeze(x);
       })},
      {"stack", call([](Args& a) { return F::stack(a.vars("xs"), a.integer("axis", 0)); })},
      {"swapaxes", call([](Args& a) { return F::swapaxes(a.var("x"), a.integer("axis1", 0), a.integer("axis2", 1)); })},
      {"tile", call([](Args& a) { return F::tile(a.var("x"), a.integers("reps")); })},
      {"transpose", call([](Args& a) {
         const Variable x = a.var("x");
         return a.has("axes") ? F::transpose(x, a.integers("axes")) : F::transpose(x);
       })},
      {"transpose_sequence", call([](Args& a) { return F::transpose_sequence(a.vars("xs")); })},
      {"vstack", call([](Args& a) { return F::vstack(a.vars("xs")); })},
      {"where", call([](Args& a) { return F::where(a.var("condition"), a.var("x"), a.var("y")); })},
  });
}

}  // namespace kusari::golden
