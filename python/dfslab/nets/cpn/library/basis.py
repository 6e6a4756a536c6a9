"""Predefined functions of CPN ML that are written in CPN ML itself.

Functions of lists are those of CPN Tools and of the standard library of ML. A random distribution
that the engine lacks is computed from distributions that the engine has. Names with a dot that the
standard library lacks, such as `Poisson.drawn`, are those of functions that only this text calls.
"""

from __future__ import annotations

BASIS = """
fun map f [] = [] | map f (x::r) = f x :: map f r
fun filter f [] = [] | filter f (x::r) = if f x then x :: filter f r else filter f r
fun exists f [] = false | exists f (x::r) = f x orelse exists f r
fun all f [] = true | all f (x::r) = f x andalso all f r
fun foldl f b [] = b | foldl f b (x::r) = foldl f (f (x, b)) r
fun foldr f b [] = b | foldr f b (x::r) = f (x, foldr f b r)
fun take (l, n) = if n <= 0 orelse null l then [] else hd l :: take (tl l, n - 1)
fun drop (l, n) = if n <= 0 orelse null l then l else drop (tl l, n - 1)
fun rm x [] = [] | rm x (y::r) = if x = y then r else y :: rm x r
fun rmall x [] = [] | rmall x (y::r) = if x = y then rmall x r else y :: rmall x r
fun remdupl [] = [] | remdupl (x::r) = if mem r x then remdupl r else x :: remdupl r
fun ins l x = l ^^ [x]
fun ins_new l x = if mem l x then l else l ^^ [x]
fun union l m = l ^^ m
fun contains l [] = true | contains l (x::r) = mem l x andalso contains l r
fun intersect [] m = [] | intersect (x::r) m =
  if mem m x then x :: intersect r m else intersect r m
fun concat [] = "" | concat (s::r) = s ^ concat r
fun fst (x, y) = x
fun copies (x, n) = if n <= 0 then [] else x :: copies (x, n - 1)
fun snd (x, y) = y
fun app f l = ()
fun last l = if null (tl l) then hd l else last (tl l)
fun flatten [] = [] | flatten (l::r) = l ^^ flatten r
fun tabulated (i, n, f) = if i >= n then [] else f i :: tabulated (i + 1, n, f)
fun tabulate (n, f) = tabulated (0, n, f)
fun partition f l = (filter f l, filter (fn x => not (f x)) l)
fun zip ([], m) = [] | zip (x::r, m) = if null m then [] else (x, hd m) :: zip (r, tl m)
fun unzip l = (map (fn (x, y) => x) l, map (fn (x, y) => y) l)
fun inserted lt x [] = [x]
  | inserted lt x (y::r) = if lt (y, x) then y :: inserted lt x r else x :: y :: r
fun sorted lt done [] = done | sorted lt done (x::r) = sorted lt (inserted lt x done) r
fun sort lt l = sorted lt (take (l, 0)) l
fun counted x [] = 0 | counted x (y::r) = (if x = y then 1 else 0) + counted x r
fun cf (x, m) = counted x (ms_to_list m)
fun ext_col f m = list_to_ms (map f (ms_to_list m))
fun Int.div (a, b) = a div b
fun Int.mod (a, b) = a mod b
fun Int.quot (a, b) = if (a < 0) = (b < 0) then abs a div abs b else ~(abs a div abs b)
fun Int.rem (a, b) = a - b * Int.quot (a, b)
fun Int.sign n = if n < 0 then ~1 else if n > 0 then 1 else 0
fun Real.sign x = if x < 0.0 then ~1 else if x > 0.0 then 1 else 0
fun Int.sameSign (a, b) = Int.sign a = Int.sign b
fun IntInf.pow (a, n) = if n <= 0 then 1 else a * IntInf.pow (a, n - 1)
fun Real.power (x, n) = if n <= 0 then 1.0
  else if n mod 2 = 0 then Real.power (x * x, n div 2) else x * Real.power (x, n - 1)
fun Math.pow (x, y) = if real (floor y) = y andalso abs y < 1024.0
  then if y < 0.0 then 1.0 / Real.power (x, ~(floor y)) else Real.power (x, floor y)
  else Math.exp (y * Math.ln x)
fun Math.log10 x = Math.ln x / 2.302585092994046
val Math.pi = 3.141592653589793
val Math.e = 2.718281828459045
fun Real.realFloor x = real (floor x)
fun Real.realCeil x = real (ceil x)
fun Real.realRound x = real (round x)
fun Real.realTrunc x = real (trunc x)
fun Bool.not b = not b
fun ignore x = ()
fun ListPair.map f (l, m) = map f (zip (l, m))
fun String.concatWith s [] = "" | String.concatWith s (x::r) =
  if null r then x else x ^ s ^ String.concatWith s r
fun Poisson.drawn (limit, p, n) =
  if p <= limit then n else Poisson.drawn (limit, p * uniform (0.0, 1.0), n + 1)
fun poisson m = Poisson.drawn (Math.exp (0.0 - m), uniform (0.0, 1.0), 0)
fun Binomial.drawn (n, p, k) =
  if n <= 0 then k else Binomial.drawn (n - 1, p, k + bernoulli p)
fun binomial (n, p) = Binomial.drawn (n, p, 0)
fun Beta.share (x, y) = x / (x + y)
fun beta (a, b) = Beta.share (gamma (1.0, a), gamma (1.0, b))
fun student n = normal (0.0, 1.0) / Math.sqrt (chisq n / real n)
"""
