#include "kusari/framework/functions/math/coo_matrix.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/take_rows.h"

namespace kusari::utils {
namespace {

constexpr const char* kCall = "utils::CooMatrix";
constexpr const char* kToCoo = "utils::to_coo";

void check_places(const Array& places, const char* name, const Variable& data, int64_t size) {
  const std::string prefix = std::string(kCall) + ": " + name;
  if (!places.is_defined()) throw TypeError(prefix + " is not given: it is required");
  if (places.dtype() != Dtype::int32 && places.dtype() != Dtype::int64) {
    throw TypeError(prefix + " has dtype " + kusari::name(places.dtype()) + " but must have int32 or int64");
  }
  if (places.shape() != data.shape()) {
    throw ValueError(prefix + " has shape " + to_string(places.shape()) + " but data has shape " +
                     to_string(data.shape()) + ": they must be equal");
  }
  if (GraphCapture::current() != nullptr) return;  // replays have elements of their own
  for (const int64_t place : places.to_vector<int64_t>()) {
    if (place < -1 || place >= size) {
      throw IndexError(prefix + " holds " + std::to_string(place) + " but the matrix has " + std::to_string(size));
    }
  }
}

}  // namespace

CooMatrix::CooMatrix(const Variable& data, const Array& row, const Array& col, const Shape& shape)
    : data_{data}, row_{row}, col_{col}, shape_{shape} {
  const std::string prefix = std::string(kCall) + ": ";
  if (!data.is_defined()) throw TypeError(prefix + "data is not given: it is required");
  if (!is_floating(data.dtype())) {
    throw TypeError(prefix + "data has dtype " + name(data.dtype()) + ": data.dtype must be floating");
  }
  if (data.ndim() != 1 && data.ndim() != 2) {
    throw ValueError(prefix + "data has shape " + to_string(data.shape()) + ": data.ndim must be 1 or 2");
  }
  if (shape.ndim() != 2) throw ValueError(prefix + "shape " + to_string(shape) + " must have two sizes");
  check_places(row, "row", data, shape[0]);
  check_places(col, "col", data, shape[1]);
}

Variable CooMatrix::to_dense() const {
  const int64_t count = is_batch() ? row_.shape()[0] : 1, entries = row_.shape()[row_.ndim() - 1];
  const std::vector<int64_t> rows = row_.to_vector<int64_t>(), cols = col_.to_vector<int64_t>();
  std::vector<int64_t> places(rows.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t matrix = static_cast<int64_t>(i) / entries;
    places[i] = rows[i] < 0 || cols[i] < 0 ? -1 : (matrix * shape_[0] + rows[i]) * shape_[1] + cols[i];
  }
  const Variable elements =
      functions::add_rows(functions::reshape(data_, {row_.size(), 1}), array(places, data_.device()),
                          count * shape_[0] * shape_[1], {.call = kCall, .has_ignored = true, .ignored = -1});
  return functions::reshape(elements, is_batch() ? Shape{count, shape_[0], shape_[1]} : shape_);
}

CooMatrix to_coo(const Array& x, std::optional<int64_t> ldnz, bool requires_grad) {
  if (!x.is_defined() || (x.ndim() != 2 && x.ndim() != 3) || !x.is_floating()) {
    throw TypeError(std::string("utils::to_coo: x ") +
                    (x.is_defined() ? std::string("has dtype ") + name(x.dtype()) + " and shape " + to_string(x.shape())
                                    : std::string("is not given")) +
                    " but must be floating and have 2 or 3 axes");
  }
  const bool is_batch = x.ndim() == 3;
  const int64_t rows = x.shape(-2), columns = x.shape(-1), count = is_batch ? x.shape()[0] : 1;
  const std::vector<double> values = x.to_vector<double>();
  const auto is_entry = [](double value) { return value != 0; };
  std::vector<int64_t> places = host_vector<int64_t>({std::count_if(values.begin(), values.end(), is_entry)}, kToCoo);
  int64_t most = 0, found = 0, begin = 0;  // where those of the matrix begin
  for (size_t i = 0; i < values.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    if (place % (rows * columns) == 0) begin = found;
    if (!is_entry(values[i])) continue;
    places[static_cast<size_t>(found++)] = place;
    most = std::max(most, found - begin);
  }
  const int64_t entries = is_batch ? ldnz.value_or(most) : most;
  if (entries < most) {
    throw ValueError(std::string(kToCoo) + ": ldnz is " + std::to_string(entries) + " but a matrix has " +
                     std::to_string(most) + " elements that are not zero");
  }
  std::vector<double> data = host_vector<double>({count, entries}, kToCoo);
  std::vector<int32_t> row = host_vector<int32_t>({count, entries}, kToCoo, -1), col = row;
  int64_t matrix = -1, entry = 0;
  for (const int64_t place : places) {
    if (const int64_t of = place / (rows * columns); of != matrix) {
      matrix = of;
      entry = of * entries;
    }
    const auto to = static_cast<size_t>(entry++);
    data[to] = values[static_cast<size_t>(place)];
    row[to] = static_cast<int32_t>(place / columns % rows);
    col[to] = static_cast<int32_t>(place % columns);
  }
  const Shape shape = is_batch ? Shape{count, entries} : Shape{entries};
  const Array elements = array(data, shape, x.device()).astype(x.dtype());
  return {
      Variable(elements, requires_grad), array(row, shape, x.device()), array(col, shape, x.device()), {rows, columns}};
}

}  // namespace kusari::utils
