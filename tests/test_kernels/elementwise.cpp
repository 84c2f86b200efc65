// Test data for gated linear units, rotary embeddings, quantization, embeddings, gradients, and steps
// of Adam. See test_kernels.h.

#include "test_kernels/test_kernel_parts.h"

#include <algorithm>

namespace tritonc::test {
namespace {

// N: less than a tile, one tile, several tiles; and of one row and of several.
std::vector<Run> on_rows(const Variant &variant, const std::function<void(Run &, int, int)> &fill) {
  int size = variant.number("SIZE");
  std::vector<Run> runs;
  for (auto [m, n] : {std::pair(1, 1), {3, 12}, {1, size}, {2, 2 * size + 9}}) {
    Run run;
    run.text = "M=" + std::to_string(m) + " N=" + std::to_string(n);
    run.launch.grid = {m * ((n + size - 1) / size), 1, 1};
    fill(run, m, n);
    runs.push_back(std::move(run));
  }
  return runs;
}

void add_arguments(Run &run, const std::vector<Matrix> &pointers,
                   const std::vector<int64_t> &numbers) {
  for (const Matrix &matrix : pointers)
    run.launch.arguments.push_back(Element::pointer(matrix.buffer));
  for (int64_t number : numbers)
    run.launch.arguments.push_back(integer(number));
}

// At these gates, the activation is 0 or the gate, and its slope 0 or 1, for every FUNCTION. At 0,
// the slope is 1/2.
Matrix add_gates(Run &run, Elem elem, int m, int n, std::mt19937 &random) {
  Matrix gate = add_matrix(run.memory, "gate", {elem}, m, n, n + 3, nullptr);
  for (int row = 0; row < m; row++)
    for (int i = 0; i < n; i++)
      run.memory[gate.buffer].elements[gate.at(row, i)] =
          Element::of_number(std::vector<double>{-256, 0, 128, 256}[random() % 4]);
  return gate;
}

std::vector<Run> units(const Variant &variant, std::mt19937 &random, const Steps &) {
  Numbers numbers = {variant.type()};
  return on_rows(variant, [&](Run &run, int m, int n) {
    Matrix gate = add_gates(run, variant.type(), m, n, random);
    Matrix up = add_matrix(run.memory, "up", numbers, m, n, n + 3, &random);
    Matrix y = add_matrix(run.memory, "y", numbers, m, n, n + 1, nullptr);
    add_arguments(run, {gate, up, y}, {m, n, gate.ld, y.ld});
    run.check = [=](const Memory &memory) {
      return check_matrix(memory, y, [&](int64_t row, int64_t i) {
        return std::max(value_at(memory, gate, row, i), 0.0) * value_at(memory, up, row, i);
      });
    };
  });
}

std::vector<Run> unit_gradients(const Variant &variant, std::mt19937 &random, const Steps &) {
  Numbers numbers = {variant.type()};
  return on_rows(variant, [&](Run &run, int m, int n) {
    Matrix gate = add_gates(run, variant.type(), m, n, random);
    Matrix up = add_matrix(run.memory, "up", numbers, m, n, n + 3, &random);
    Matrix dy = add_matrix(run.memory, "dy", numbers, m, n, n, &random);
    Matrix dgate = add_matrix(run.memory, "dgate", numbers, m, n, n + 1, nullptr);
    Matrix dup = add_matrix(run.memory, "dup", numbers, m, n, n + 1, nullptr);
    add_arguments(run, {gate, up, dy, dgate, dup}, {m, n, gate.ld, dy.ld, dup.ld});
    run.check = [=](const Memory &memory) {
      return check_matrix(memory, dup,
                          [&](int64_t row, int64_t i) {
                            return value_at(memory, dy, row, i) *
                                   std::max(value_at(memory, gate, row, i), 0.0);
                          }) +
             check_matrix(memory, dgate, [&](int64_t row, int64_t i) {
               double x = value_at(memory, gate, row, i);
               double slope = x == 0 ? 0.5 : x > 0 ? 1 : 0;
               return value_at(memory, dy, row, i) * value_at(memory, up, row, i) * slope;
             });
    };
  });
}

// One head with part of a tile; heads with a tile, and with two tiles. Every second run is inverse.
std::vector<Run> rotations(const Variant &variant, std::mt19937 &random, const Steps &) {
  constexpr int table_rows = 5, tokens = 3;
  bool are_halves = variant["APART"] == "true", is_inverse = false;
  int td = variant.number("TD"), th = variant.number("TH");
  Numbers numbers = {variant.type()};
  std::vector<Run> runs;
  for (auto [heads, pairs] : {std::pair(1, 4), {th + 1, td}, {2, td + 8}}) {
    is_inverse = !is_inverse;
    Run run;
    run.text = "heads=" + std::to_string(heads) + " pairs=" + std::to_string(pairs);
    int head = 2 * pairs, columns = heads * head;
    Matrix x = add_matrix(run.memory, "x", numbers, tokens, columns, columns + 8, &random);
    std::vector<double> rows = {3, 0, 4};
    int positions = run.memory.add("positions", Elem::i32, rows);
    Matrix cosines =
        add_matrix(run.memory, "cosines", numbers, table_rows, pairs, pairs + 1, &random);
    Matrix sines = add_matrix(run.memory, "sines", numbers, table_rows, pairs, pairs + 1, &random);
    Matrix y = add_matrix(run.memory, "y", numbers, tokens, columns, columns + 16, nullptr);
    run.launch.grid = {tokens, (pairs + td - 1) / td, 1};
    run.launch.arguments = {Element::pointer(x.buffer), Element::pointer(positions),
                            Element::pointer(cosines.buffer), Element::pointer(sines.buffer),
                            Element::pointer(y.buffer)};
    for (int64_t number : {int64_t(is_inverse), int64_t(tokens), int64_t(heads), int64_t(pairs),
                           x.ld, int64_t(head), y.ld, int64_t(head), cosines.ld})
      run.launch.arguments.push_back(integer(number));
    run.check = [=, pairs = pairs](const Memory &memory) {
      return check_matrix(memory, y, [&](int64_t token, int64_t column) {
        int64_t in_head = column % head, d = are_halves ? in_head % pairs : in_head / 2;
        bool is_first = are_halves ? in_head < pairs : in_head % 2 == 0;
        int64_t apart = are_halves ? pairs : 1, row = int64_t(rows[size_t(token)]);
        double other = value_at(memory, x, token, is_first ? column + apart : column - apart);
        double sine = value_at(memory, sines, row, d);
        return value_at(memory, x, token, column) * value_at(memory, cosines, row, d) +
               (is_first == is_inverse ? sine : -sine) * other;
      });
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// Groups of a matrix with a transposed or plain matrix of scales. The largest element of a group is a
// power of two times the limit, so scales and results are exact. One group is 0, and `least` is its
// largest.
struct Groups {
  Groups(Run &run, const Variant &variant, std::mt19937 &random, int m, int n, int group,
         bool is_transposed)
      : is_transposed(is_transposed), group(group), is_float(variant["OUT_TYPE"] == "e4m3"),
        limit(is_float ? 448 : 127), count((n + group - 1) / group) {
    run.text = "M=" + std::to_string(m) + " N=" + std::to_string(n);
    x = add_matrix(run.memory, "x", {variant.type()}, m, n, n + 3, &random);
    q = add_matrix(run.memory, "q", {is_float ? Elem::e4m3 : Elem::i8}, m, n, n + 1, nullptr);
    scales = is_transposed
                 ? add_matrix(run.memory, "scales", {Elem::f32}, count, m, m + 1, nullptr)
                 : add_matrix(run.memory, "scales", {Elem::f32}, m, count, count + 1, nullptr);
    for (int row = 0; row < m; row++)
      for (int i = 0; i < n; i++) {
        Element &element = run.memory[x.buffer].elements[x.at(row, i)];
        double value = i % group == 3 ? -limit : element.number;
        element = Element::of_number(row + i / group == 0 ? 0 : value * scale_of(row, i / group));
      }
    add_arguments(run, {x, q, scales}, {});
    run.launch.arguments.push_back(Element::of_number(limit / 4));
    run.check = [groups = *this](const Memory &memory) { return groups.check(memory); };
  }

  static double scale_of(int64_t row, int64_t g) {
    return row + g == 0 ? 0.25 : 1 << (row + g) % 5;
  }

  std::string check(const Memory &memory) const {
    return check_matrix(memory, q,
                        [&](int64_t row, int64_t i) {
                          return value_at(memory, x, row, i) / scale_of(row, i / group);
                        }) +
           check_matrix(memory, scales, [&](int64_t row, int64_t g) {
             return is_transposed ? scale_of(g, row) : scale_of(row, g);
           });
  }

  bool is_transposed;
  int group;
  bool is_float;
  double limit;
  int count;
  Matrix x = {}, q = {}, scales = {};
};

std::vector<Run> quantizations(const Variant &variant, std::mt19937 &random, const Steps &) {
  int size = variant.number("SIZE");
  std::vector<std::tuple<int, int, int>> shapes = {
      {2, 12, 12}, {2, 2 * size + 7, 2 * size + 7}, {3, 40, 16}};
  std::vector<int> lengths;
  add_unrolled_lengths(lengths, size, 3);
  for (int n : lengths)
    shapes.push_back({3, n, n});
  std::vector<Run> runs;
  for (auto [m, n, group] : shapes) {
    Run run;
    Groups groups(run, variant, random, m, n, group, false);
    run.launch.grid = {m * groups.count, 1, 1};
    add_arguments(run, {}, {group, m, n, groups.x.ld, groups.q.ld, groups.scales.ld});
    runs.push_back(std::move(run));
  }
  return runs;
}

// A part of a group; a part of a tile, and whole groups; several tiles.
std::vector<Run> short_quantizations(const Variant &variant, std::mt19937 &random, const Steps &) {
  int size = variant.number("SIZE"), group = variant.number("GROUP");
  std::vector<Run> runs;
  for (auto [m, n] : {std::pair(2, 12), {3, 2 * group}, {2, 2 * size + group + 7}}) {
    Run run;
    bool is_transposed = n == 2 * group;
    Groups groups(run, variant, random, m, n, group, is_transposed);
    run.launch.grid = {m, (n + size - 1) / size, 1};
    int64_t ld = groups.scales.ld;
    add_arguments(run, {},
                  {m, n, groups.x.ld, groups.q.ld, is_transposed ? 1 : ld, is_transposed ? ld : 1});
    runs.push_back(std::move(run));
  }
  return runs;
}

constexpr int table_rows = 4;

// One row; less than a tile; several tiles.
std::vector<Run> on_tiles(const Variant &variant,
                          const std::function<void(Run &, int, int)> &fill) {
  int tm = variant.number("TM"), tn = variant.number("TN");
  std::vector<Run> runs;
  for (auto [m, n] : {std::pair(1, 1), {3, 12}, {2 * tm + 3, 2 * tn + 9}}) {
    Run run;
    run.text = "M=" + std::to_string(m) + " N=" + std::to_string(n);
    run.launch.grid = {(m + tm - 1) / tm, (n + tn - 1) / tn, 1};
    fill(run, m, n);
    runs.push_back(std::move(run));
  }
  return runs;
}

// Each id occurs, some twice. One is too large, one negative.
int add_ids(Run &run, int m, std::vector<int64_t> &ids) {
  std::vector<double> values;
  for (int row = 0; row < m; row++)
    ids.push_back(row % 7 == 5 ? table_rows : row % 7 == 6 ? -3 : row * 3 % table_rows);
  values.assign(ids.begin(), ids.end());
  return run.memory.add("ids", Elem::i32, values);
}

std::vector<Run> embeddings(const Variant &variant, std::mt19937 &random, const Steps &) {
  Numbers numbers = {variant.type()};
  return on_tiles(variant, [&](Run &run, int m, int n) {
    std::vector<int64_t> ids;
    Matrix table = add_matrix(run.memory, "table", numbers, table_rows, n, n + 3, &random);
    int given = add_ids(run, m, ids);
    Matrix y = add_matrix(run.memory, "y", numbers, m, n, n + 1, nullptr);
    run.launch.arguments = {Element::pointer(table.buffer), Element::pointer(given),
                            Element::pointer(y.buffer)};
    add_arguments(run, {}, {table_rows, m, n, table.ld, y.ld});
    run.check = [=](const Memory &memory) {
      return check_matrix(memory, y, [&](int64_t row, int64_t i) {
        int64_t id = ids[size_t(row)];
        return id >= 0 && id < table_rows ? value_at(memory, table, id, i) : 0;
      });
    };
  });
}

std::vector<Run> embedding_gradients(const Variant &variant, std::mt19937 &random, const Steps &) {
  return on_tiles(variant, [&](Run &run, int m, int n) {
    std::vector<int64_t> ids;
    Matrix dy = add_matrix(run.memory, "dy", {variant.type()}, m, n, n + 3, &random);
    int given = add_ids(run, m, ids);
    Matrix dtable = add_matrix(run.memory, "dtable", {Elem::f32}, table_rows, n, n + 1, &random);
    run.launch.arguments = {Element::pointer(dy.buffer), Element::pointer(given),
                            Element::pointer(dtable.buffer)};
    add_arguments(run, {}, {table_rows, m, n, dy.ld, dtable.ld});
    Memory before = run.memory;
    run.check = [=](const Memory &memory) {
      return check_matrix(memory, dtable, [&](int64_t id, int64_t i) {
        double sum = value_at(before, dtable, id, i);
        for (int row = 0; row < m; row++)
          sum += ids[size_t(row)] == id ? value_at(memory, dy, row, i) : 0;
        return sum;
      });
    };
  });
}

// Ids without a row, of one row, and of several tiles of rows. One is too large, one negative.
std::vector<Run> sorted_embedding_gradients(const Variant &variant, std::mt19937 &random,
                                            const Steps &) {
  constexpr int tm = 4, tn = 256;
  std::vector<Run> runs;
  for (int n : {1, 12, 2 * tn + 9}) {
    Run run;
    run.text = "N=" + std::to_string(n);
    const std::vector<double> ids = {3, table_rows, 0, 2, -1}, counts = {1, 2, 2.0 * tm + 1, 0, 1};
    std::vector<double> order, ends;
    int m = 0;
    for (double count : counts)
      ends.push_back(m += int(count));
    for (int row = 0; row < m; row++)
      order.push_back(row);
    std::shuffle(order.begin(), order.end(), random);
    Matrix dy = add_matrix(run.memory, "dy", {variant.type()}, m, n, n + 3, &random);
    run.launch.arguments = {Element::pointer(dy.buffer)};
    for (int buffer :
         {run.memory.add("order", Elem::i32, order), run.memory.add("ids", Elem::i32, ids),
          run.memory.add("ends", Elem::i32, ends)})
      run.launch.arguments.push_back(Element::pointer(buffer));
    Matrix dtable = add_matrix(run.memory, "dtable", {Elem::f32}, table_rows, n, n + 1, &random);
    run.launch.grid = {int(ids.size()), (n + tn - 1) / tn, 1};
    add_arguments(run, {dtable}, {table_rows, int64_t(ids.size()), n, dy.ld, dtable.ld});
    Memory before = run.memory;
    run.check = [=](const Memory &memory) {
      return check_matrix(memory, dtable, [&](int64_t id, int64_t i) {
        double sum = value_at(before, dtable, id, i);
        for (size_t s = 0; s < ids.size(); s++)
          for (double k = s ? ends[s - 1] : 0; int64_t(ids[s]) == id && k < ends[s]; k++)
            sum += value_at(memory, dy, int64_t(order[size_t(k)]), i);
        return sum;
      });
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// The parameters, gradients and moments of one tensor. Roots and quotients of the moments are exact:
// v stays 4, and sqrt(v / correction2) + epsilon is 8.
struct Step {
  static constexpr double rate = 0.5, beta = 0.5, epsilon = 4, decay = 0.5, correction1 = 0.5,
                          correction2 = 0.25;

  Step(Memory &memory, Elem elem, int n, std::mt19937 &random) {
    p = add_matrix(memory, "p", {elem}, 1, n, n, &random);
    g = add_matrix(memory, "g", {elem}, 1, n, n, nullptr);
    m = add_matrix(memory, "m", {Elem::f32}, 1, n, n, &random);
    v = add_matrix(memory, "v", {Elem::f32}, 1, n, n, nullptr);
    for (int i = 0; i < n; i++) {
      memory[g.buffer].elements[size_t(i)] = Element::of_number(random() % 2 ? 2 : -2);
      memory[v.buffer].elements[size_t(i)] = Element::of_number(4);
    }
  }

  static void add_constants(Run &run) {
    for (double number : {rate, beta, beta, epsilon, decay, correction1, correction2})
      run.launch.arguments.push_back(Element::of_number(number));
  }

  std::string check(const Memory &before, const Memory &memory) const {
    auto first = [&](int64_t, int64_t i) {
      return 0.5 * value_at(before, m, 0, i) + 0.5 * value_at(before, g, 0, i);
    };
    auto parameter = [&](int64_t, int64_t i) {
      double old = value_at(before, p, 0, i);
      return old - rate * (first(0, i) / correction1 / 8 + decay * old);
    };
    return check_matrix(memory, p, parameter) + check_matrix(memory, m, first) +
           check_matrix(memory, v, [](int64_t, int64_t) { return 4; });
  }

  Matrix p = {}, g = {}, m = {}, v = {};
};

std::vector<Run> adam_steps(const Variant &variant, std::mt19937 &random, const Steps &) {
  int size = variant.number("SIZE");
  std::vector<Run> runs;
  for (int n : {1, size, 2 * size + 9}) {
    Run run;
    run.text = "n=" + std::to_string(n);
    Step step(run.memory, variant.type(), n, random);
    run.launch.grid = {(n + size - 1) / size, 1, 1};
    add_arguments(run, {step.p, step.g, step.m, step.v}, {});
    Step::add_constants(run);
    run.launch.arguments.push_back(integer(n));
    run.check = [step, before = run.memory](const Memory &memory) {
      return step.check(before, memory);
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// No tensor, one, several, and more than the kernel looks at in an iteration. Some are empty.
std::vector<Run> adam_steps_of_tensors(const Variant &variant, std::mt19937 &random,
                                       const Steps &) {
  constexpr int part = 2048;
  std::vector<Run> runs;
  std::vector<std::vector<int>> lists = {{}, {5}, {part, 3, 0, 2 * part + 1, 0}};
  lists.emplace_back(260, 1);
  for (const std::vector<int> &list : lists) {
    Run run;
    run.text = "tensors=" + std::to_string(list.size());
    std::vector<Step> steps;
    std::vector<int> ps, gs, ms, vs;
    std::vector<double> sizes(list.begin(), list.end()), ends;
    int parts = 0;
    for (int n : list) {
      const Step &step = steps.emplace_back(run.memory, variant.type(), n, random);
      ps.push_back(step.p.buffer);
      gs.push_back(step.g.buffer);
      ms.push_back(step.m.buffer);
      vs.push_back(step.v.buffer);
      ends.push_back(parts += (n + part - 1) / part);
    }
    run.launch.grid = {parts, 1, 1};
    for (int buffer :
         {run.memory.add_addresses("ps", ps), run.memory.add_addresses("gs", gs),
          run.memory.add_addresses("ms", ms), run.memory.add_addresses("vs", vs),
          run.memory.add("sizes", Elem::i32, sizes), run.memory.add("ends", Elem::i32, ends)})
      run.launch.arguments.push_back(Element::pointer(buffer));
    Step::add_constants(run);
    add_arguments(run, {}, {int64_t(list.size()), parts});
    run.check = [steps, before = run.memory](const Memory &memory) {
      std::string wrong;
      for (const Step &step : steps)
        wrong += step.check(before, memory);
      return wrong;
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

} // namespace

std::vector<TestKernel> elementwise_kernels() {
  return {
      {"kernels/adam.tc", false, adam_steps, {}},
      {"kernels/adam_tensors.tc", false, adam_steps_of_tensors, {}},
      {"kernels/embedding.tc", false, embeddings, {}},
      {"kernels/embedding_backward.tc", false, embedding_gradients, {}},
      {"kernels/embedding_backward_sorted.tc", false, sorted_embedding_gradients, {}},
      {"kernels/glu.tc", false, units, {}},
      {"kernels/glu_backward.tc", false, unit_gradients, {}},
      {"kernels/quantize.tc", false, quantizations, {}},
      {"kernels/quantize_groups.tc", false, short_quantizations, {}},
      {"kernels/rope.tc", false, rotations, {}},
  };
}

} // namespace tritonc::test
