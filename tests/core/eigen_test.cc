#include "kusari/framework/core/eigen.h"

#include <vector>

#include <doctest/doctest.h>

using namespace kusari;

TEST_CASE("eigen_matrix views an array of any strides") {
  const Array x = arange(6).reshape({2, 3});
  auto m = eigen_matrix<float>(x);
  CHECK(m.rows() == 2);
  CHECK(m.cols() == 3);
  CHECK(m(1, 0) == 3.0f);
  m(1, 0) = 30;
  CHECK(x.to_vector<int>() == std::vector<int>{0, 1, 2, 30, 4, 5});
  CHECK(eigen_matrix<float>(x.transpose())(0, 1) == 30.0f);
  CHECK(eigen_matrix<float>(x.slice(1, 0, 2, 2))(0, 1) == 2.0f);
  CHECK(eigen_matrix<float>(array<float>({7}).broadcast_to({2, 2})).sum() == 28.0f);
  const Array y = zeros({2, 2});
  eigen_matrix<float>(y) = eigen_matrix<float>(x) * eigen_matrix<float>(x).transpose();
  CHECK(y.to_vector<int>() == std::vector<int>{5, 14, 14, 941});
}

TEST_CASE("eigen_vector and half types") {
  const Array x = arange(6).reshape({2, 3});
  CHECK(eigen_vector<float>(x.at(1)).sum() == 12.0f);
  CHECK(eigen_vector<float>(x.transpose().at(2))(1) == 5.0f);
  const Array h = x.astype(Dtype::float16);
  CHECK(static_cast<float>(eigen_matrix<Eigen::half>(h)(1, 2)) == 5.0f);
}

TEST_CASE("from_eigen copies any expression in C order") {
  Eigen::MatrixXd m(2, 3);  // column-major
  m << 1, 2, 3, 4, 5, 6;
  CHECK(from_eigen(m).shape() == Shape{2, 3});
  CHECK(from_eigen(m).dtype() == Dtype::float64);
  CHECK(from_eigen(m).to_vector<int>() == std::vector<int>{1, 2, 3, 4, 5, 6});
  CHECK(from_eigen(2 * m.transpose()).to_vector<int>() == std::vector<int>{2, 8, 4, 10, 6, 12});
  CHECK(from_eigen(m.col(1)).shape() == Shape{2});
  CHECK(from_eigen(m.row(1)).to_vector<int>() == std::vector<int>{4, 5, 6});
  CHECK(from_eigen(Eigen::ArrayXf::LinSpaced(3, 0, 2)).to_vector<int>() == std::vector<int>{0, 1, 2});
  CHECK(from_eigen(m.array().square()).at(1).to_vector<int>() == std::vector<int>{16, 25, 36});
}

TEST_CASE("eigen: what does not fit is refused") {
  const Array x = arange(6).reshape({2, 3});
  CHECK_THROWS_WITH_AS(eigen_matrix<double>(x), "eigen_matrix: the array has dtype float32: it must be float64",
                       TypeError);
  CHECK_THROWS_WITH_AS(eigen_matrix<float>(x.at(0)), "eigen_matrix: the array has shape (3,): it must have 2 axes",
                       TypeError);
  CHECK_THROWS_WITH_AS(eigen_vector<float>(x), "eigen_vector: the array has shape (2, 3): it must have 1 axis",
                       TypeError);
  CHECK_THROWS_WITH_AS(eigen_vector<float>(x.at(0).slice(0, 2, 3, -1)),
                       "eigen_vector: the array has strides (-1,): Eigen has no negative ones, take contiguous()",
                       TypeError);
  CHECK_THROWS_AS(eigen_matrix<float>(Array()), ValueError);
}
