"""Examples of functions of CPN ML and of the standard library of ML, which CPN Tools predefines."""

from __future__ import annotations

from tests.support.cpn_constructs import Row

JOB = '1`{no=1,owner="a"}'

LIBRARY = [
    Row(
        "division toward zero",
        "Int.quot(~7, n), Int.rem(~7, n)",
        puts="10 * Int.quot(n, 2) + Int.rem(n, 2)",
        first="1`~7++1`7",
        served=[[-31], [31]],
    ),
    Row("division downward", "Int.div(~7, n)", puts="Int.div(~7, n)", served=[[-4], [-7]]),
    Row("sign", "Int.sign n", puts="Int.sign n", first="1`~7++1`0++1`2", served=[[-1], [0], [1]]),
    Row(
        "powers",
        "Math.pow(2.0, r)",
        puts="floor (Math.pow(2.0, real n)) + IntInf.pow(n, 3)",
        first="1`3++1`0",
        served=[[1], [35]],
    ),
    Row(
        "logarithms and constants",
        "Math.log10, Math.pi",
        puts="round (Math.log10 100.0) + floor (Math.pi * real n)",
        served=[[5], [8]],
    ),
    Row(
        "text of a record",
        "JOB.mkstr job",
        colour="JOB",
        made="STRING",
        takes="job",
        puts="JOB.mkstr job",
        first=JOB,
        served=[['{no=1,owner="a"}']],
    ),
    Row(
        "text of a list of records",
        "JOBS.mkstr jobs",
        colour="JOBS",
        made="STRING",
        takes="jobs",
        puts="JOBS.mkstr jobs ^ PAIR.mkstr (length jobs, red)",
        first='1`[{no=1,owner="a"},{no=2,owner="b"}]++1`[]',
        served=[["[](0,red)"], ['[{no=1,owner="a"},{no=2,owner="b"}](2,red)']],
    ),
    Row(
        "text of a union",
        "MESSAGE.mkstr message",
        colour="MESSAGE",
        made="STRING",
        takes="message",
        puts="MESSAGE.mkstr message",
        first="1`stop_now",
        refused="choose the text by case",
    ),
    Row(
        "text of a known real number",
        "Real.toString 2.5",
        made="STRING",
        puts="Real.toString (~2.5)",
        first="1`1",
        served=[["~2.5"]],
    ),
    Row(
        "text of a real number of a token",
        "Real.toString r",
        made="STRING",
        puts="Real.toString (real n)",
        refused="write whole units as a text: Int.toString (round …)",
    ),
    Row(
        "known text within a text",
        'String.isPrefix "a" name',
        made="BOOL",
        ml='val name = "abc"',
        puts='String.isPrefix "a" name andalso String.isSuffix "bc" name'
        ' andalso not (String.isSubstring "ca" name)',
        first="1`1",
        served=[[True]],
    ),
    Row(
        "text within a text of a token",
        'String.isPrefix "a" s',
        colour="STRING",
        made="BOOL",
        takes="s",
        puts='String.isPrefix "a" s',
        first='1`"ab"',
        refused="keep their parts in fields",
    ),
    Row(
        "texts with a separator",
        'String.concatWith "," texts',
        made="STRING",
        puts='String.concatWith "," ["a", Int.toString n, "c"]',
        served=[["a,1,c"], ["a,2,c"]],
    ),
    Row(
        "characters",
        "Char.isDigit c",
        made="BOOL",
        puts="Char.isDigit n",
        refused="keep their parts in fields",
    ),
    Row(
        "order of two values",
        "Int.compare(n, m)",
        puts="if Int.compare(n, 1) = n then 1 else 2",
        refused="compare with <, = and >",
    ),
    Row("loop", "iter f n", puts="iter n", refused="a function that calls itself"),
    Row("other rounding", "rint r", puts="rint n", refused="use round, floor, ceil, trunc"),
    Row("sine", "Math.sin r", puts="round (Math.sin 1.0)", refused="list the values (List.nth)"),
    Row("array", "Array.array(n, 0)", puts="Array.array(n, 0)", refused="use a list"),
    Row(
        "pairs of two lists",
        "ListPair.map op+ (q, q)",
        colour="INTS",
        made="INTS",
        takes="q",
        puts="ListPair.map op* (q, q)",
        first="1`[4,5,6]",
        served=[[[16, 25, 36]]],
    ),
    Row(
        "random value by its former name",
        "ran'HUE()",
        made="BOOL",
        puts="HUE.legal (ran'HUE())",
        first="1`1",
        served=[[True]],
    ),
    Row(
        "normal distribution (mean, variance)",
        "normal(1.0, 0.5)",
        puts="round (normal(real n, 0.0))",
        served=[[1], [2]],
    ),
    Row(
        "distributions",
        "poisson, binomial, gamma, chisq, beta, weibull, rayleigh, student",
        puts="if binomial(n, 1.0) = n andalso poisson 3.0 >= 0 andalso gamma(1.0, 2.0) > 0.0"
        " andalso chisq 3 > 0.0 andalso beta(1.0, 2.0) < 1.0 andalso weibull(1.0, 2.0) > 0.0"
        " andalso rayleigh 1.0 > 0.0 andalso abs (student 3) >= 0.0 then n else 0",
        served=[[1], [2]],
    ),
    Row(
        "another distribution",
        "hypergeometric(1, 2, 3)",
        puts="hypergeometric(1, 2, 3)",
        refused="is no distribution that is read; use discrete, bernoulli, exponential, normal",
    ),
]
