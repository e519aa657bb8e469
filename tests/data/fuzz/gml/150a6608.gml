graph [
  directed 1
  node [
    id 0
    label "0"
  ]
  node [
    id 1
    label "1"
  ]
  node [
    id 2
    label "2"
  ]
  edge [
    source 0
    target 1
    weight 2
  ]
  edge [
    source 1
    target 0
    weight 2
  ]
  edge [
    source 2
    target 2
    weight 3
  ]
  edge [
    source 2
    target 1
    weight 3
  ]
]
