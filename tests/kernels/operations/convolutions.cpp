#include <rondo/kernels/conv/conv_transpose2d.h>
#include <rondo/tests/kernels/operations/operations.h>
#include <rondo/tests/kernels/reference/conv_reference.h>

#include <string>

namespace rondo::test {
namespace {

void add_convolutions(std::vector<Operation>& all, const std::string& name, const ConvCase& c) {
  all.push_back(
      {"conv2d_forward_" + name, [=](Operands& o) {
         float *y = o.out(c.y_size()), *x = o.in(c.x_size()), *filter = o.in(c.filter_size()),
               *bias = o.in(c.k), *residual = o.in(c.y_size());
         double* const sums = o.out<double>(2 * c.k);
         return conv2d_forward(
             y_view(c, y), x_view<const float>(c, x), filter_view<const float>(c, filter), c.options,
             {.bias = {bias, c.k}, .residual = y_view<const float>(c, residual), .sums = {sums, 2 * c.k}},
             o.workspace(workspace_bytes(c).forward_sums), o.stream());
       }});
  all.push_back({"conv2d_data_gradient_" + name, [=](Operands& o) {
                   float *dx = o.in_out(c.x_size()), *dy = o.in(c.y_size()), *filter = o.in(c.filter_size());
                   return conv2d_data_gradient(x_view(c, dx), y_view<const float>(c, dy),
                                               filter_view<const float>(c, filter), c.options, {.beta = 0.5f},
                                               o.workspace(workspace_bytes(c).data_gradient), o.stream());
                 }});
  all.push_back({"conv2d_filter_gradient_" + name, [=](Operands& o) {
                   float *dw = o.in_out(c.filter_size()), *db = o.in_out(c.k), *dy = o.in(c.y_size()),
                         *x = o.in(c.x_size());
                   return conv2d_filter_gradient(
                       filter_view(c, dw), y_view<const float>(c, dy), x_view<const float>(c, x), c.options,
                       {.beta = 0.5f, .bias_gradient = {db, c.k}},
                       o.workspace(workspace_bytes(c).filter_gradient_bias), o.stream());
                 }});
  all.push_back({"conv_transpose2d_" + name, [=](Operands& o) {
                   float *y = o.out(c.x_size()), *x = o.in(c.y_size()), *filter = o.in(c.filter_size()),
                         *bias = o.in(c.c);
                   return conv_transpose2d(x_view(c, y), y_view<const float>(c, x),
                                           filter_view<const float>(c, filter), c.options,
                                           {.bias = {bias, c.c}, .relu = true},
                                           o.workspace(workspace_bytes(c).data_gradient), o.stream());
                 }});
}

}  // namespace

void add_convolutions(std::vector<Operation>& all) {
  add_convolutions(all, "first_layer", {1, 5, 20, 1, 8, 3, 3, {1, 1, 1, 1}});
  add_convolutions(all, "direct", {1, 5, 6, 16, 20, 3, 3, {1, 1, 1, 1, ConvAlgorithm::direct}});
  add_convolutions(all, "dilated", {1, 9, 10, 16, 20, 3, 3, {.pad_h = 2, .dilation_h = 2, .dilation_w = 3}});
  add_convolutions(all, "depthwise", {2, 5, 6, 20, 20, 3, 3, {.pad_h = 1, .pad_w = 1, .groups = 20}});
  add_convolutions(all, "groups", {1, 5, 6, 32, 16, 3, 3, {.stride_w = 2, .groups = 2, .pad_right = 1}});
  add_convolutions(all, "narrow_groups", {1, 5, 6, 9, 12, 3, 3, {.groups = 3}});
  add_convolutions(all, "winograd", {1, 5, 6, 16, 32, 3, 3, {1, 1, 1, 1, ConvAlgorithm::winograd}});
}

}  // namespace rondo::test
