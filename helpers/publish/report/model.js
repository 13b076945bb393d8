// A translation model that runs in a page: the encoder-decoder of helpers.models.build, with any of its heads switched off.
"use strict";
window.openModel = (given) => {
  const { layers, decoder_layers: decoderLayers, heads, decoder_heads: decoderHeads, width, start, end } = given.shape;
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const floats = (text) => new Float32Array(bytes(text).buffer);
  const opened = ({ scales, values }) => {  // rows of eight-bit numbers, each with its scale
    const whole = new Int8Array(bytes(values).buffer), scale = floats(scales), wide = whole.length / scale.length;
    return Float32Array.from(whole, (value, at) => value * scale[Math.floor(at / wide)]);
  };
  const weights = Object.fromEntries(Object.entries(given.matrices).map(([name, matrix]) => [name, opened(matrix)]));
  const vectors = Object.fromEntries(Object.entries(given.vectors).map(([name, text]) => [name, floats(text)]));
  const table = weights["shared"], tokens = table.length / width, places = vectors["places"];

  // y = W x + b for n rows of x; four rows, or four outputs of one row, share what is read
  function linear(x, n, name, to) {
    const w = weights[name], bias = vectors[`${name} bias`], from = w.length / to, y = new Float32Array(n * to);
    let t = 0;
    for (; t + 3 < n; t += 4) {
      const a = t * from, b = a + from, c = b + from, d = c + from;
      for (let o = 0; o < to; o++) {
        const row = o * from, add = bias ? bias[o] : 0;
        let p = add, q = add, r = add, s = add;
        for (let i = 0; i < from; i++) {
          const v = w[row + i];
          p += v * x[a + i]; q += v * x[b + i]; r += v * x[c + i]; s += v * x[d + i];
        }
        y[t * to + o] = p; y[(t + 1) * to + o] = q; y[(t + 2) * to + o] = r; y[(t + 3) * to + o] = s;
      }
    }
    for (; t < n; t++) {
      const a = t * from;
      for (let o = 0; o < to; o++) {
        const row = o * from;
        let p = 0, q = 0, r = 0, s = 0, i = 0;
        for (; i + 3 < from; i += 4) {
          p += w[row + i] * x[a + i]; q += w[row + i + 1] * x[a + i + 1];
          r += w[row + i + 2] * x[a + i + 2]; s += w[row + i + 3] * x[a + i + 3];
        }
        for (; i < from; i++) p += w[row + i] * x[a + i];
        y[t * to + o] = p + q + r + s + (bias ? bias[o] : 0);
      }
    }
    return y;
  }

  function normed(x, name) {
    const gain = vectors[name], shift = vectors[`${name} bias`], y = new Float32Array(x.length);
    for (let at = 0; at < x.length; at += width) {
      let mean = 0, square = 0;
      for (let i = 0; i < width; i++) mean += x[at + i] / width;
      for (let i = 0; i < width; i++) square += (x[at + i] - mean) ** 2 / width;
      const by = 1 / Math.sqrt(square + 1e-5);
      for (let i = 0; i < width; i++) y[at + i] = (x[at + i] - mean) * by * gain[i] + shift[i];
    }
    return y;
  }

  // softmax(q k / sqrt(size)) v by head; a head that is off gives zeros; of a causal row only what is not later counts
  function attended(q, k, v, many, off, causal) {
    const size = width / many, rows = q.length / width, columns = k.length / width, out = new Float32Array(q.length);
    const weight = new Float32Array(columns), scale = 1 / Math.sqrt(size);
    for (let h = 0; h < many; h++) {
      if (off.has(h)) continue;
      const at = h * size;
      for (let r = 0; r < rows; r++) {
        const seen = causal ? columns - rows + r + 1 : columns;
        let most = -Infinity, total = 0;
        for (let c = 0; c < seen; c++) {
          let dot = 0;
          for (let i = 0; i < size; i++) dot += q[r * width + at + i] * k[c * width + at + i];
          weight[c] = dot * scale;
          most = Math.max(most, weight[c]);
        }
        for (let c = 0; c < seen; c++) total += (weight[c] = Math.exp(weight[c] - most));
        for (let c = 0; c < seen; c++)
          for (let i = 0; i < size; i++) out[r * width + at + i] += weight[c] / total * v[c * width + at + i];
      }
    }
    return out;
  }

  const plus = (x, y) => { for (let i = 0; i < x.length; i++) y[i] += x[i]; return y; };
  const joined = (x, y) => { const z = new Float32Array(x.length + y.length); z.set(x); z.set(y, x.length); return z; };

  function fed(x, layer) {
    const inner = linear(normed(x, `${layer} final_layer_norm`), x.length / width, `${layer} fc1`, given.shape.feed_forward);
    for (let i = 0; i < inner.length; i++) inner[i] = Math.max(inner[i], 0);
    return plus(x, linear(inner, x.length / width, `${layer} fc2`, width));
  }

  function embedded(ids, first = 0) {
    const x = new Float32Array(ids.length * width), scale = Math.sqrt(width);
    ids.forEach((id, t) => { for (let i = 0; i < width; i++) x[t * width + i] = table[id * width + i] * scale + places[(first + t) * width + i]; });
    return x;
  }

  // what heads of a layer are off, of addresses "kind.layer.head"
  const without = (off, kind, layer) => new Set([...off].map((head) => head.split(".")).filter(([k, l]) => k === kind && +l === layer).map(([, , h]) => +h));

  // states of the encoder after each layer are kept by sentence: what stands below the first head that changed is not computed again
  const kept = new Map();

  function encode(ids, off) {
    const name = ids.join(), held = kept.get(name) ?? [];
    let x = embedded(ids), same = true;
    for (let l = 0; l < layers; l++) {
      const layer = `encoder ${l}`, gone = without(off, "encoder", l), sign = [...gone].sort().join();
      same &&= held[l]?.sign === sign;
      if (!same) {
        const h = normed(x, `${layer} self_attn_layer_norm`), n = ids.length;
        const [q, k, v] = ["q", "k", "v"].map((side) => linear(h, n, `${layer} self_attn ${side}_proj`, width));
        x = fed(plus(x, linear(attended(q, k, v, heads, gone, false), n, `${layer} self_attn out_proj`, width)), layer);
        held[l] = { sign, x };
      }
      x = held[l].x;
    }
    kept.set(name, held);
    return normed(x, "encoder layer_norm");
  }

  // a decoder of one source: feed it tokens, it gives states for each and remembers keys and values
  function decoder(source, off) {
    const n = source.length / width, past = [], ends = [];
    for (let l = 0; l < decoderLayers; l++) {
      past.push({ k: new Float32Array(0), v: new Float32Array(0) });
      ends.push(["k", "v"].map((side) => linear(source, n, `decoder ${l} encoder_attn ${side}_proj`, width)));
    }
    let first = 0;
    return (ids) => {
      let x = embedded(ids, first);
      first += ids.length;
      for (let l = 0; l < decoderLayers; l++) {
        const layer = `decoder ${l}`, rows = ids.length;
        let h = normed(x, `${layer} self_attn_layer_norm`);
        const [q, k, v] = ["q", "k", "v"].map((side) => linear(h, rows, `${layer} self_attn ${side}_proj`, width));
        past[l] = { k: joined(past[l].k, k), v: joined(past[l].v, v) };
        const own = attended(q, past[l].k, past[l].v, decoderHeads, without(off, "decoder", l), true);
        x = plus(x, linear(own, rows, `${layer} self_attn out_proj`, width));
        h = linear(normed(x, `${layer} encoder_attn_layer_norm`), rows, `${layer} encoder_attn q_proj`, width);
        const cross = attended(h, ...ends[l], decoderHeads, without(off, "cross", l), false);
        x = fed(plus(x, linear(cross, rows, `${layer} encoder_attn out_proj`, width)), layer);
      }
      return linear(normed(x, "decoder layer_norm"), ids.length, "shared", tokens);
    };
  }

  return {
    // sum of the cross-entropy of the reference in nats, and its tokens
    loss({ source, target }, off) {
      const logits = decoder(encode(source, off), off)([start, ...target.slice(0, -1)]);
      let sum = 0;
      target.forEach((id, t) => {
        const row = logits.subarray(t * tokens, (t + 1) * tokens), most = row.reduce((a, b) => Math.max(a, b));
        sum += most + Math.log(row.reduce((total, value) => total + Math.exp(value - most), 0)) - row[id];
      });
      return { sum, tokens: target.length };
    },
    // greedy, as the study translates: token ids without start and end
    translate({ source }, off) {
      const next = decoder(encode(source, off), off), written = [];
      for (let id = start; written.length < 2 * source.length + 9;) {
        const logits = next([id]);
        id = logits.indexOf(logits.reduce((a, b) => Math.max(a, b)));
        if (id === end) break;
        written.push(id);
      }
      return written;
    },
    text: (ids) => ids.map((id) => given.pieces[id - given.first] ?? "").join("").replace(/^▁/, "").replaceAll("▁", " "),
  };
};
