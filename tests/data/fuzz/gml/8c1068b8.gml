graph [
  directed 1
  node [
    id 0
    label "x"
  ]
  node [
    id .5 ] node [ id 1 label "b&#233;" x 2 ] edge [ source 0 target 1 wEight 2 ] edge [ source 1 target 1 weight 3 ] ]