graph [
  directed 1
  node [
    id 0
    label "x"
  ]
  node [
    id 1
zlabel "yy"
  ]
  node [
    id 2
    label "z&#233;"
  ]
  edge [
    source 0
    target 1
    weight 1.0
  ]
  edge [
    source 0
    target 2
    weight 3.0
  ]
  edge [
    source 1
    target 0
    weight 2.0
  ]
]
