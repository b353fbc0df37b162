#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/kernels/axes.h"
#include "kusari/framework/onnx/format.h"

// What operators of several families use.
namespace kusari::onnx {

/// An array of no axes with the dtype and device of x: a number that a function takes as its argument.
Variable number_like(const Variable& x, double value);

/// Throws ValueError when an attribute's text is none of those.
void expect_one_of(std::string_view attribute, std::string_view text, std::initializer_list<std::string_view> known);

/// The axes of an attribute or an input as functions take them. No numbers: all axes.
Axes axes_of(const std::vector<int64_t>& axes);
/// The same numbers, negative ones counted from the end, each once. Throws IndexError and ValueError otherwise.
std::vector<int64_t> normalized(const std::vector<int64_t>& axes, int ndim);

/// A shape of a file's numbers. Throws ValueError for more axes than an Array may have.
Shape shape_of(const std::vector<int64_t>& sizes);
/// Throws ValueError when an array of that shape would have more elements than a model may ask for by a few bytes.
void expect_size(const Shape& shape);

bool is_floating(const Variable& x);

/// Throws TypeError unless x, which errors call `name`, has at least so many axes.
void expect_axes(const Variable& x, int least, const char* name);

/// What is left of integers in a type that Kusari has no dtype of, but a wider one: its lowest bits, as of a C cast.
Array wrapped(const Array& x, DataType type);

}  // namespace kusari::onnx
